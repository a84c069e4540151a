import path from 'node:path';
import { agentPaths } from '@certwright/agent-contract';
import type { Settings } from '../configuration/settings';
import { removeTree } from '../files/durable';
import { Installer } from '../installation/installer';
import { Placing } from '../installation/placing';
import type { Log } from '../log/log';
import { probe } from '../probes/probe';
import { CorrectedClock } from '../protocol/corrected-clock';
import { HttpClient, Unreachable } from '../protocol/http-client';
import { trustedCertificates } from '../protocol/trust-store';
import { lockState } from '../state/host-lock';
import { readIdentity, removeIdentity } from '../state/identity';
import { OrderStore } from '../state/order-store';
import { StoredKeys } from '../state/stored-keys';
import { pruneReleased, pruneReplaced } from '../sync/prune';
import { numberFile } from '../sync/reporter';
import { pause } from '../sync/wakeup';
import { type Host, prepareState } from './host';
import { CommandFault, exitCodes, type ExitCode, type Output, printResult } from './output';

/** Removes what is no longer valid: replaced versions and keys, and orders that left the cluster and have expired. */
export async function prune(host: Host, settings: Settings, log: Log, output: Output): Promise<ExitCode> {
  const now = await serverTime(host, settings);
  prepareState(host, settings);
  const lock = lockState(host.files, settings.state);
  try {
    const orders = new OrderStore(host.files, settings.state);
    const installer = storedInstaller(host, settings, orders, log);
    installer.journals.restore();
    const released = pruneReleased(installer, orders, now);
    const replaced = pruneReplaced(installer, orders, new StoredKeys(host.files, settings.state), now, null);
    printResult(output, { orders: released, replaced }, [
      ...released.map((order) => `removed order ${JSON.stringify(order)}`),
      `removed ${replaced} replaced versions and keys`,
    ]);
    return exitCodes.fine;
  } finally {
    lock.release();
  }
}

/**
 * Removes the identity and the keys that no installed version needs. Versions stay, since servers read them. The server
 * is not notified: an owner removes the agent there.
 */
export function uninstall(host: Host, settings: Settings, isConfirmed: boolean, output: Output): ExitCode {
  const identity = readIdentity(host.files, settings.state);
  const orders = new OrderStore(host.files, settings.state);
  const keys = path.join(settings.state, 'keys');
  if (!isConfirmed)
    throw new CommandFault(
      exitCodes.usage,
      `this removes the identity of the agent and ${keys}, and keeps ${orders.root}, which servers read; repeat it with --yes`,
    );
  if (host.files.state(settings.state) === null) {
    printResult(output, { removed: false }, ['nothing to remove']);
    return exitCodes.fine;
  }
  const lock = lockState(host.files, settings.state);
  try {
    if (host.files.state(keys) !== null) removeTree(host.files, keys);
    removeIdentity(host.files, settings.state);
    for (const file of [path.join(settings.state, 'disk-check'), numberFile(settings.state)])
      if (host.files.state(file) !== null) host.files.remove(file);
    printResult(output, { removed: true, agent_id: identity?.agentId ?? null, kept: orders.root }, [
      `removed the identity and keys; kept ${orders.root}, which servers may read`,
      ...(identity === null
        ? []
        : [
            `remove agent ${identity.agentId} from cluster ${JSON.stringify(identity.cluster)} at the server, so that no keys are sealed for it`,
          ]),
    ]);
    return exitCodes.fine;
  } finally {
    lock.release();
  }
}

/**
 * A clock of the host that is ahead must not make valid certificates seem expired. Every response has the time, also one
 * that refuses an agent that was removed.
 */
async function serverTime(host: Host, { server, caFile, proxy }: Settings): Promise<Date> {
  const trusted = server.protocol === 'http:' ? [] : trustedCertificates(host.files, caFile);
  const http = new HttpClient(server, { trusted, proxy });
  try {
    const request = { method: 'GET', path: agentPaths.members, query: '', headers: {} } as const;
    const { date } = await http.send({ ...request, body: new Uint8Array() });
    const clock = new CorrectedClock();
    if (clock.observe(date)) return clock.now();
    throw new Unreachable(`${server.host}: its response has no date`);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    throw new CommandFault(
      exitCodes.unreachable,
      `${error.message}; nothing was removed, because only the server has the time for it`,
    );
  } finally {
    http.close();
  }
}

/** An installer that installs nothing: for its reading of journals. */
function storedInstaller(host: Host, settings: Settings, orders: OrderStore, log: Log): Installer {
  const { signal } = new AbortController();
  return new Installer({
    orders,
    placing: new Placing(host.files, orders, host.owner),
    settings,
    now: () => new Date(),
    correctedNow: () => new Date(),
    elapsedMs: () => performance.now(),
    wait: (ms) => pause(ms, signal),
    run: () => Promise.reject(new Error('prune runs no command')),
    probe,
    log,
    changed: () => undefined,
    signal,
  });
}
