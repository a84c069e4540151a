// @ts-check
// `node tools/peers/main.mjs '<PeerOptions as JSON>'`: starts real name servers, prints one line of JSON
// (`{"peers":{…}}`), and stops them on SIGTERM or SIGINT. options.mjs describes input and output.
import { startPeers } from './peers.mjs';
/** @import { PeerOptions } from './options.mjs' */

const starting = new AbortController();
/** @type {(() => Promise<void>) | undefined} */
let stopAll;
for (const name of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
  process.on(name, async () => {
    starting.abort(new Error(`Stopped by ${name}.`));
    const stop = stopAll;
    stopAll = undefined;
    if (stop === undefined) return;
    await stop();
    process.exit(0);
  });
}

try {
  const [argument = '{"servers":[]}'] = process.argv.slice(2);
  const options = /** @type {PeerOptions} */ (JSON.parse(argument));
  const { stop, ...peers } = await startPeers(options, starting.signal);
  stopAll = stop;
  // Keeps the process running.
  setInterval(() => undefined, 60_000);
  console.log(JSON.stringify({ peers }));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
