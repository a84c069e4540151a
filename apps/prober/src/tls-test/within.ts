/** Gives the work a signal that aborts when its time is up; whether it ends then is its own business. */
export async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeIsUp = new AbortController();
  const timer = setTimeout(() => timeIsUp.abort(), ms);
  try {
    return await work(timeIsUp.signal);
  } finally {
    clearTimeout(timer);
  }
}
