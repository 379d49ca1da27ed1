// The page of the server: frames are asked for when they are wanted, a few ahead, and some are kept.

const KEPT = 256e6; // bytes of frames
const AT_ONCE = 3; // requests for what comes next
const EVERY = 1000; // milliseconds between two looks at a run that goes on
const SELDOM = 5000; // and at one that does not, or a server that does not answer: they may come back

class ServedSource extends Source {
  static async open() {
    const source = new ServedSource({ times: [], n: 0 });
    await source.look();
    return source;
  }

  // Is there anything new? True if there is.
  async look() {
    const answer = await asked("header", { headers: { "If-None-Match": this.tag || "" } });
    if (answer.status === 304) return false;
    const about = await answer.json();
    if (this.tag && about.session !== this.about.session) {
      location.reload(); // another run took its place
      return new Promise(() => {});
    }
    if (!this.kept || about.times.length < this.count) [this.kept, this.size, this.most] = [new Map(), 0, KEPT];
    for (const [k, { size }] of this.kept) {
      if (about.times[k] === this.times[k]) continue;
      this.kept.delete(k); // the state at a checkpoint, which gave way to a frame
      this.size -= size;
    }
    this.renew(about);
    this.tag = answer.headers.get("ETag");
    return true;
  }

  bytes(k) {
    const found = this.kept.get(k) || { size: 0 };
    this.kept.delete(k);
    this.kept.set(k, found); // the last used is the last
    found.bytes ||= this.fetched(k, found);
    return found.bytes;
  }

  async fetched(k, entry) {
    try {
      const bytes = await (await asked(`frame/${k}`)).arrayBuffer();
      if (this.kept.get(k) !== entry) return bytes; // the run was written anew meanwhile
      this.size += entry.size = bytes.byteLength;
      for (const [old, { size }] of this.kept) {
        if (this.size <= this.most) break;
        if (old === k || !size) continue; // what is still on its way takes no room yet
        this.kept.delete(old);
        this.size -= size;
      }
      return bytes;
    } catch (error) {
      this.kept.delete(k);
      throw error;
    }
  }

  // What is asked for here is asked one after the other, a few at once, and forgotten when something else is wanted.
  ahead(numbers) {
    this.next = numbers.filter((k) => k >= 0 && k < this.count && !this.kept.has(k));
    this.busy ||= 0;
    while (this.busy < AT_ONCE && this.next.length) this.fetchNext();
  }

  async fetchNext() {
    this.busy++;
    while (this.next.length) await this.bytes(this.next.shift()).catch(() => {}); // said when it is wanted
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
  if (!answer.ok && answer.status !== 304) throw new Error((await answer.text()) || `the server says ${answer.status}`);
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
      viewer.say(`Nothing new: ${error.message}`);
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
