import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('contender.mjs', import.meta.url));
/** For one answer, whatever hangs, ms. */
const answerWithinMs = 10 * 60_000;

/**
 * @param {string} name
 * @param {import('./contender.mjs').Setting} setting
 */
export function startContender(name, setting) {
  const child = fork(program, [name], { env: { ...process.env, NODE_EXTRA_CA_CERTS: setting.tlsRootFile } });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const ask = async (message) =>
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${name} does not end`)), answerWithinMs);
      const over = (code) => reject(new Error(`${name} ended (${code})`));
      child.once('exit', over);
      child.once('message', (answer) => {
        clearTimeout(timer);
        child.removeListener('exit', over);
        resolve(answer);
      });
      child.send(message);
    });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { ready: ask(setting), round: ask, stop };
}
