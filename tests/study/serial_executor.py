"""An executor that does each run when it is handed over, in an order of its own."""

from concurrent.futures import Executor, Future


class Serial(Executor):
    def submit(self, function, /, *arguments, **named):
        future = Future()
        try:
            future.set_result(function(*arguments, **named))
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)
        return future
