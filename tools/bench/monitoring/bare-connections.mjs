// The baseline of looks: TLS connections and nothing else. Arguments: port, hosts, concurrency, seconds of warm-up, seconds.
import { connect, createSecureContext } from 'node:tls';
import { ownCpuSeconds } from '../cpu-time.mjs';

const [port, hosts, concurrency, warmUpSeconds, seconds] = process.argv.slice(2).map(Number);
const secureContext = createSecureContext({ ca: [] });

const look = (nth) =>
  new Promise((resolve) => {
    const host = `127.${90 + (nth >> 8)}.${nth & 255}.1`;
    const servername = `h${nth}.example.com`;
    const socket = connect({ host, port, servername, secureContext, rejectUnauthorized: false }, () => {
      socket.getPeerCertificate(true);
      socket.end();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

async function measured(forSeconds) {
  let [next, done, failed] = [0, 0, 0];
  const begun = performance.now();
  const until = begun + forSeconds * 1_000;
  const cpu = ownCpuSeconds();
  const worker = async () => {
    while (performance.now() < until) {
      if (await look(next++ % hosts)) done += 1;
      else failed += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const perSecond = (done * 1_000) / (performance.now() - begun);
  return { done, failed, perSecond, cpuMs: ((ownCpuSeconds() - cpu) * 1_000) / done };
}

await measured(warmUpSeconds);
process.send(await measured(seconds));
process.disconnect();
