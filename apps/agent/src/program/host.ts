import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { runCommand } from '../commands/run-command';
import type { Environment } from '../config';
import { faultText } from '../configuration/table-reader';
import { readSettings, type Settings } from '../configuration/settings';
import { DiskFiles } from '../files/disk-files';
import { ensureFolder, fileFault } from '../files/durable';
import type { Files } from '../files/files';
import { type Owner, unsafeFolder } from '../files/safe-path';
import type { Log } from '../log/log';
import { probe } from '../probes/probe';
import { type Identity, readIdentity } from '../state/identity';
import type { AgentParts } from '../sync/agent';
import { CommandFault, exitCodes } from './output';

declare const AGENT_VERSION: string | undefined;

/** Set when the program is built. */
export const agentVersion = typeof AGENT_VERSION === 'string' ? AGENT_VERSION : '0.1.0';

/** What commands use of the host. */
export interface Host {
  readonly files: Files;
  readonly owner: Owner;
  readonly environment: Environment;
  readonly name: string;
  readonly platform: string;
}

export function thisHost(environment: Environment): Host {
  return {
    files: new DiskFiles(),
    owner: { uid: process.getuid?.() ?? 0 },
    environment,
    name: hostname(),
    platform: platformText(),
  };
}

/** @throws CommandFault with every error of the configuration */
export function settingsOf(host: Host, file: string): Settings {
  const reading = readSettings(host.files, file, host.owner);
  if (reading.ok) return reading.settings;
  throw new CommandFault(exitCodes.usage, reading.faults.map(faultText).join('\n'));
}

/** Creates the state folder. @throws CommandFault when it cannot be used */
export function prepareState(host: Host, { state }: Settings): void {
  try {
    ensureFolder(host.files, state);
    const unsafe = unsafeFolder(host.files, state, host.owner);
    if (unsafe !== null) throw new CommandFault(exitCodes.problem, `state ${state}: ${unsafe}`);
    const mode = host.files.state(state)?.mode ?? 0;
    // Private keys are in it.
    if ((mode & 0o077) !== 0) host.files.setMode(state, 0o700);
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    throw new CommandFault(exitCodes.problem, `state: ${fileFault(error)}`);
  }
}

/** @throws CommandFault when this host is not enrolled */
function enrolledIdentity(host: Host, { state, server }: Settings): Identity & { readonly cluster: string } {
  const identity = readIdentity(host.files, state);
  if (identity === null || identity.cluster === null)
    throw new CommandFault(
      exitCodes.notEnrolled,
      'this host is not enrolled; create an enrolment token and run certwright-agent enrol',
    );
  if (identity.server !== server.origin)
    throw new CommandFault(
      exitCodes.notEnrolled,
      `this host is enrolled at ${identity.server}, but server is ${server.origin}; correct server, or run enrol again`,
    );
  return { ...identity, cluster: identity.cluster };
}

export function agentParts(host: Host, settings: Settings, log: Log, signal: AbortSignal): AgentParts {
  return {
    files: host.files,
    settings,
    identity: enrolledIdentity(host, settings),
    owner: host.owner,
    agent: { version: agentVersion, platform: host.platform },
    probe,
    run: async (command, options) =>
      await runCommand(command, { ...options, environment: host.environment.ofCommands }),
    log,
    signal,
  };
}

function platformText(): string {
  let system = '';
  try {
    const release = readFileSync('/etc/os-release', 'utf8');
    system = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(release)?.[1] ?? '';
  } catch {
    // Not on every system.
  }
  return `${process.platform}-${process.arch}${system === '' ? '' : ` ${system}`}`.slice(0, 255);
}
