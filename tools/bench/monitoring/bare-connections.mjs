// The baseline of looks: TLS connections and nothing else. Arguments: port, hosts, concurrency, seconds of warm-up, seconds.
import { connect, createSecureContext } from 'node:tls';
import { ownCpuSeconds } from '../cpu-time.mjs';
import { rateOf } from './look-rate.mjs';

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

await rateOf(look, { seconds: warmUpSeconds, hosts, concurrency });
const before = ownCpuSeconds();
const rate = await rateOf(look, { seconds, hosts, concurrency });
process.send({ ...rate, cpuMs: ((ownCpuSeconds() - before) * 1_000) / rate.done });
process.disconnect();
