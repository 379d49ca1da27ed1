// The page of the server: it requests frames when they are needed, a few in advance, and keeps some of them.

const KEPT = 256e6; // bytes: largest total size of the frames that are kept
const AT_ONCE = 3; // simultaneous requests for the next frames
const EVERY = 1000; // milliseconds between two queries about a run in progress
const SELDOM = 5000; // milliseconds between two queries if the run has ended or the server does not answer

class ServedSource extends Source {
  static async open() {
    const source = new ServedSource({ times: [], n: 0 });
    await source.look();
    return source;
  }

  // Query the server; true if there is anything new.
  async look() {
    const answer = await asked("header", { headers: { "If-None-Match": this.tag || "" } });
    if (answer.status === 304) return false;
    const about = await answer.json();
    if (this.tag && about.session !== this.about.session) {
      location.reload(); // another run replaced this one
      return new Promise(() => {});
    }
    if (!this.kept || about.times.length < this.count) [this.kept, this.size, this.most] = [new Map(), 0, KEPT];
    for (const [k, { size }] of this.kept) {
      if (about.times[k] === this.times[k]) continue;
      this.kept.delete(k); // the state at a checkpoint was replaced by a frame
      this.size -= size;
    }
    this.renew(about);
    this.tag = answer.headers.get("ETag");
    return true;
  }

  bytes(k) {
    const found = this.kept.get(k) || { size: 0 };
    this.kept.delete(k);
    this.kept.set(k, found); // moves the entry to the end: entries are in the order of their last use
    found.bytes ||= this.fetched(k, found);
    return found.bytes;
  }

  async fetched(k, entry) {
    try {
      const bytes = await (await asked(`frame/${k}`)).arrayBuffer();
      if (this.kept.get(k) !== entry) return bytes; // the run was rewritten in the meantime
      this.size += entry.size = bytes.byteLength;
      for (const [old, { size }] of this.kept) {
        if (this.size <= this.most) break;
        if (old === k || !size) continue; // a frame that is still being loaded takes no memory yet
        this.kept.delete(old);
        this.size -= size;
      }
      return bytes;
    } catch (error) {
      this.kept.delete(k);
      throw error;
    }
  }

  // Request these frames in order, a few at a time; a later call replaces the list.
  ahead(numbers) {
    this.next = numbers.filter((k) => k >= 0 && k < this.count && !this.kept.has(k));
    this.busy ||= 0;
    while (this.busy < AT_ONCE && this.next.length) this.fetchNext();
  }

  async fetchNext() {
    this.busy++;
    while (this.next.length) await this.bytes(this.next.shift()).catch(() => {}); // shown when the frame is needed
    this.busy--;
  }
}

async function asked(what, options = {}) {
  let answer;
  try {
    answer = await fetch(what, { cache: "no-store", ...options });
  } catch {
    throw new Error("the server does not answer: jostle view may have ended");
  }
  if (!answer.ok && answer.status !== 304) throw new Error((await answer.text()) || `the server answered ${answer.status}`);
  return answer;
}

{
  const source = await ServedSource.open();
  const viewer = (window.viewer = mount(document, source));
  let silent = false;
  const look = async () => {
    try {
      if (await source.look()) viewer.renewed();
      if (silent) viewer.say("");
      silent = false;
    } catch (error) {
      viewer.say(`No new frames: ${error.message}`);
      silent = true;
    }
  };
  const goesOn = () => source.about.live && !silent;
  const lookAgain = async () => {
    if (goesOn() || !document.hidden) await look();
    setTimeout(lookAgain, goesOn() ? EVERY : SELDOM);
  };
  setTimeout(lookAgain, goesOn() ? EVERY : SELDOM);
}
