import path from 'node:path';
import type { Settings } from '../configuration/settings';
import { fileFault } from '../files/durable';
import { unsafeFile, unsafeFolder } from '../files/safe-path';
import { AgentApi } from '../protocol/agent-api';
import { CorrectedClock } from '../protocol/corrected-clock';
import { HttpClient } from '../protocol/http-client';
import { trustedCertificates, TrustFault } from '../protocol/trust-store';
import { userOrGroupId } from '../installation/placing';
import { runCommand } from '../commands/run-command';
import { readIdentity, readMachineId } from '../state/identity';
import { commandFault } from './enrol';
import type { Host } from './host';
import { CommandFault, exitCodes, type ExitCode, type Output, printResult } from './output';

/** Finds what would fail later: folders, users, tests of services, the server. Changes nothing. */
export async function check(host: Host, settings: Settings, output: Output): Promise<ExitCode> {
  const problems = [
    ...stateProblems(host, settings),
    ...pointProblems(host, settings),
    ...(await testProblems(host, settings)),
  ];
  const server = await serverProblem(host, settings);
  const all = [...problems, ...(server === null ? [] : [server.message])];
  printResult(output, { problems: all }, all.length === 0 ? ['no problem found'] : all);
  if (problems.length > 0) return exitCodes.problem;
  return server?.exitCode ?? exitCodes.fine;
}

function stateProblems({ files, owner }: Host, { state }: Settings): string[] {
  const identity = readIdentity(files, state);
  const machineId = readMachineId(files);
  const isCopy =
    identity !== null &&
    identity.machineId !== null &&
    machineId !== null &&
    identity.machineId !== machineId;
  const unsafe = files.state(state) === null ? null : unsafeFolder(files, state, owner);
  return [
    ...(unsafe === null ? [] : [`state ${state}: ${unsafe}`]),
    ...(isCopy
      ? ['this machine is a copy of the one that was enrolled (its machine-id differs); run enrol on it']
      : []),
  ];
}

function pointProblems({ files, owner }: Host, { points }: Settings): string[] {
  return points.flatMap(({ path: file, owner: user, group, passwordFile }) => {
    if (file === null) return [];
    const found: string[] = [];
    const note = (problem: string | null, what: string) => {
      if (problem !== null) found.push(`${what}: ${problem}`);
    };
    note(unsafeFolder(files, path.dirname(file), owner), file);
    if (passwordFile !== null) note(unsafeFile(files, passwordFile, owner), `password_file ${passwordFile}`);
    for (const [database, name] of [
      ['passwd', user],
      ['group', group],
    ] as const) {
      if (name === null) continue;
      try {
        userOrGroupId(database, name);
      } catch (error) {
        found.push(`${file}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return found;
  });
}

async function testProblems(host: Host, { services, points }: Settings): Promise<string[]> {
  const problems: string[] = [];
  for (const { name, test, timeoutMs } of services.values()) {
    if (test === null || !points.some(({ service }) => service === name)) continue;
    const result = await runCommand(test, { timeoutMs, environment: host.environment.ofCommands });
    if (result.problem !== null) problems.push(`test of ${name} failed: ${result.problem}`);
  }
  return problems;
}

async function serverProblem(host: Host, settings: Settings): Promise<CommandFault | null> {
  const identity = readIdentity(host.files, settings.state);
  if (identity === null || identity.cluster === null)
    return new CommandFault(exitCodes.notEnrolled, 'this host is not enrolled; run certwright-agent enrol');
  const clock = new CorrectedClock();
  try {
    const trusted =
      settings.server.protocol === 'http:' ? [] : trustedCertificates(host.files, settings.caFile);
    const http = new HttpClient(settings.server, { trusted, proxy: settings.proxy });
    try {
      await new AgentApi(http, identity, clock).members();
    } finally {
      http.close();
    }
  } catch (error) {
    if (error instanceof TrustFault) return new CommandFault(exitCodes.problem, error.message);
    if (error instanceof Error && 'syscall' in error)
      return new CommandFault(exitCodes.problem, fileFault(error));
    const fault = commandFault(error, clock);
    if (fault instanceof CommandFault) return fault;
    throw fault;
  }
  const problem = clock.problem();
  return problem === null ? null : new CommandFault(exitCodes.problem, problem);
}
