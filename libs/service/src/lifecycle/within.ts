/** @throws Error when it is not settled in time; what `pending` does is not ended by that */
export async function within<T>(ms: number, pending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([pending, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
