import { readFileSync } from 'node:fs';
import {
  clusterKeyFromSeed,
  ContractError,
  encodeBase64url,
  type JoinSecrets,
  parseJoinString,
  rawPublicKey,
  signStatement,
} from '@certwright/agent-contract';
import type { Settings } from '../configuration/settings';
import { fileFault } from '../files/durable';
import { AgentApi, printable, Refusal } from '../protocol/agent-api';
import { CorrectedClock } from '../protocol/corrected-clock';
import { HttpClient, Unreachable } from '../protocol/http-client';
import { trustedCertificates } from '../protocol/trust-store';
import {
  type Identity,
  newIdentity,
  readIdentity,
  readMachineId,
  removeIdentity,
  storeIdentity,
} from '../state/identity';
import { lockState } from '../state/host-lock';
import { agentVersion, type Host, prepareState } from './host';
import { CommandFault, exitCodes, type ExitCode, type Output, printResult } from './output';

export interface EnrolOptions {
  readonly joinFile: string | undefined;
  /** Of the host, as people see it. */
  readonly name: string | undefined;
  /** Gives up the present identity. */
  readonly isNew: boolean;
}

/**
 * Joins the cluster. The keys are on the disk before the token is spent, and the server responds the same to the same
 * keys and token, so a repeated call after a crash is harmless.
 */
export async function enrol(
  host: Host,
  settings: Settings,
  options: EnrolOptions,
  output: Output,
): Promise<ExitCode> {
  prepareState(host, settings);
  const lock = lockState(host.files, settings.state);
  try {
    const secrets = joinSecrets(host, options);
    const present = readIdentity(host.files, settings.state);
    const kept = present === null || options.isNew || isForeign(host, settings, present) ? null : present;
    if (kept !== null && kept.cluster !== null && (await isAccepted(host, settings, kept))) {
      const text = `already enrolled as agent ${kept.agentId} of cluster ${JSON.stringify(kept.cluster)}; enrol --new replaces it`;
      printResult(output, { agent_id: kept.agentId, cluster: kept.cluster, already_enrolled: true }, [text]);
      return exitCodes.fine;
    }
    const { identity, cluster } = await join(
      host,
      settings,
      options,
      secrets,
      kept?.cluster === null ? kept : null,
    );
    printResult(output, { agent_id: identity.agentId, cluster, already_enrolled: false }, [
      `enrolled as agent ${identity.agentId} of cluster ${JSON.stringify(cluster)}`,
      `start the agent, such as with: systemctl enable --now certwright-agent`,
    ]);
    return exitCodes.fine;
  } finally {
    lock.release();
  }
}

async function join(
  host: Host,
  settings: Settings,
  options: EnrolOptions,
  { token, clusterKeySeed }: JoinSecrets,
  pending: Identity | null,
): Promise<{ identity: Identity; cluster: string }> {
  const clusterKey = clusterKeySeed === null ? null : clusterKeyFromSeed(clusterKeySeed);
  const publicKey = clusterKey?.publicKey ?? null;
  const clock = new CorrectedClock();
  const isSame = pending !== null && hex(pending.clusterKey) === hex(publicKey);
  const draft = isSame
    ? pending
    : newIdentity({
        server: settings.server.origin,
        clusterKey: publicKey,
        machineId: readMachineId(host.files),
      });
  const statement =
    clusterKey === null
      ? null
      : (draft.statement ??
        signStatement(clusterKey, {
          identityKey: rawPublicKey(draft.identityKey),
          sealingKey: rawPublicKey(draft.sealingKey),
          time: clock.now(),
        }));
  const identity = { ...draft, statement };
  if (!isSame) {
    removeIdentity(host.files, settings.state);
    storeIdentity(host.files, settings.state, identity);
  }
  const response = await request(
    host,
    settings,
    identity,
    clock,
    async (api) =>
      await api.enrol({
        token,
        identity_key: encodeBase64url(rawPublicKey(identity.identityKey)),
        sealing_key: encodeBase64url(rawPublicKey(identity.sealingKey)),
        statement,
        name: options.name ?? host.name,
        version: agentVersion,
        platform: host.platform,
      }),
  );
  if (response.agent_id !== identity.agentId)
    throw new CommandFault(
      exitCodes.problem,
      'the server enrolled another key than that of this host; check server',
    );
  const serverKey = response.cluster.cluster_key;
  if (publicKey !== null && serverKey !== encodeBase64url(publicKey))
    throw new CommandFault(
      exitCodes.problem,
      'the cluster has another cluster key than the join string; create a join string with the key of this cluster',
    );
  storeIdentity(host.files, settings.state, { ...identity, cluster: response.cluster.name });
  return { identity, cluster: response.cluster.name };
}

/** Enrolled elsewhere, or on another machine. */
function isForeign(host: Host, settings: Settings, present: Identity): boolean {
  const machineId = readMachineId(host.files);
  const isOtherMachine = present.machineId !== null && machineId !== null && present.machineId !== machineId;
  return isOtherMachine || present.server !== settings.server.origin;
}

/** A removed agent needs a new identity: its old one is refused for ever. */
async function isAccepted(host: Host, settings: Settings, identity: Identity): Promise<boolean> {
  try {
    await request(host, settings, identity, new CorrectedClock(), async (api) => await api.members());
    return true;
  } catch (error) {
    if (error instanceof CommandFault && error.exitCode === exitCodes.notEnrolled) return false;
    throw error;
  }
}

async function request<T>(
  host: Host,
  settings: Settings,
  identity: Identity,
  clock: CorrectedClock,
  call: (api: AgentApi) => Promise<T>,
): Promise<T> {
  const trusted =
    settings.server.protocol === 'http:' ? [] : trustedCertificates(host.files, settings.caFile);
  const http = new HttpClient(settings.server, { trusted, proxy: settings.proxy });
  try {
    return await call(new AgentApi(http, identity, clock));
  } catch (error) {
    throw commandFault(error, clock);
  } finally {
    http.close();
  }
}

/** What a failed call means for a command. */
export function commandFault(error: unknown, clock?: CorrectedClock): Error {
  const clockProblem = clock?.problem() ?? null;
  const also = clockProblem === null ? '' : `; ${clockProblem}`;
  if (error instanceof Unreachable) return new CommandFault(exitCodes.unreachable, `${error.message}${also}`);
  if (!(error instanceof Refusal)) return error as Error;
  const message = printable(error.message);
  if (error.status === 401)
    return new CommandFault(exitCodes.notEnrolled, `the server refuses this host: ${message}${also}`);
  if (error.status === 429 || error.status === 503)
    return new CommandFault(
      exitCodes.unreachable,
      `the server is busy: ${message}; run the command again later`,
    );
  return new CommandFault(
    exitCodes.problem,
    `the server refuses the request (${error.code}): ${message}${also}`,
  );
}

function joinSecrets(host: Host, { joinFile }: EnrolOptions): JoinSecrets {
  try {
    return parseJoinString(joinText(host, joinFile));
  } catch (error) {
    if (error instanceof ContractError) throw new CommandFault(exitCodes.usage, error.message);
    throw error;
  }
}

/** Never an argument, which every user of the host can see. */
function joinText(host: Host, joinFile: string | undefined): string {
  const { joinString = '' } = host.environment;
  const text =
    joinFile === undefined && joinString !== ''
      ? joinString
      : joinFile !== undefined && joinFile !== '-'
        ? joinFileText(joinFile)
        : process.stdin.isTTY && joinFile === undefined
          ? ''
          : readFileSync(0, 'utf8');
  if (text.trim() !== '') return text;
  throw new CommandFault(
    exitCodes.usage,
    'no join string; pass --join-file <file>, standard input, or the variable CERTWRIGHT_JOIN',
  );
}

function joinFileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandFault(exitCodes.usage, `join string: ${fileFault(error)}`);
  }
}

const hex = (bytes: Uint8Array | null): string => (bytes === null ? '' : Buffer.from(bytes).toString('hex'));
