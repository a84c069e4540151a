// @ts-check
// Specs give name servers addresses of their own within 127.0.0.0/8. Linux has all of them; macOS has 127.0.0.1 only.
import net from 'node:net';

/** The highest last byte that specs listen on. */
const HIGHEST = 60;

/**
 * @param {string} [address] one that specs listen on
 * @returns {Promise<string | null>} what to do so that every spec can run
 */
export async function loopbackHint(address = '127.0.0.2') {
  if (await canListen(address)) return null;
  return [
    `Specs that listen on ${address} to 127.0.0.${HIGHEST} will fail: this system has 127.0.0.1 only. Until the next restart, this adds them:`,
    `  for n in $(seq 2 ${HIGHEST}); do sudo ifconfig lo0 alias 127.0.0.$n up; done`,
  ].join('\n');
}

/** @param {string} host @returns {Promise<boolean>} */
function canListen(host) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port: 0 }, () => server.close(() => resolve(true)));
  });
}
