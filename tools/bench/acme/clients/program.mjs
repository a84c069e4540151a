// A client that is a program: one process per certificate.
import { execFile } from 'node:child_process';
import { clientTimeoutMs } from '../side-by-side.mjs';

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env] besides our own
 */
export async function runProgram(command, args, env = {}) {
  await new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...env }, timeout: clientTimeoutMs, killSignal: 'SIGKILL' };
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(undefined);
      if (error.code === 'ENOENT') return reject(new Error(`${command} is not installed`));
      if (error.killed)
        return reject(new Error(`${command} did not end within ${clientTimeoutMs / 1_000} s`));
      const lastLine = `${stderr}${stdout}`.trim().split('\n').at(-1);
      reject(new Error(`${command}: ${lastLine || error.message}`));
    });
  });
}

/** Until it succeeds, so many times at most. @param {() => Promise<void>} work */
export async function anyway(attempts, work) {
  try {
    await work();
  } catch (error) {
    if (attempts <= 1 || /not installed/.test(error.message)) throw error;
    await anyway(attempts - 1, work);
  }
}
