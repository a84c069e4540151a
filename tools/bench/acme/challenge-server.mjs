// Publishes the TXT values of all clients in pebble-challtestsrv.
import { Agent, createServer, request } from 'node:http';
import { LOOPBACK } from '../../embedded/ports.mjs';

const agent = new Agent({ keepAlive: true });

/** @param {string} url of pebble-challtestsrv @param {string} host `_acme-challenge.…` @param {string} value */
export async function publish(url, host, value) {
  await new Promise((resolve, reject) => {
    const sent = request(`${url}/set-txt`, { agent, method: 'POST' }, (response) => {
      response.resume();
      response.once('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error('set-txt failed')),
      );
    });
    sent.once('error', reject);
    sent.end(JSON.stringify({ host: host.endsWith('.') ? host : `${host}.`, value }));
  });
}

/**
 * lego's HTTP request provider sends `/present` and `/cleanup` with `fqdn` and `value` instead. Runs in the
 * benchmark's own process, so that its CPU time counts for no client.
 *
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function openPresenter(challengesUrl) {
  const server = createServer((question, response) => {
    const chunks = [];
    question.on('data', (chunk) => chunks.push(chunk));
    question.on('end', async () => {
      const { fqdn, value } = JSON.parse(Buffer.concat(chunks).toString());
      if (question.url === '/present') await publish(challengesUrl, fqdn, value);
      response.end('{}');
    });
  });
  await new Promise((resolve) => server.listen(0, LOOPBACK, resolve));
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { url: `http://${LOOPBACK}:${server.address().port}`, close };
}
