import { killRunningCommands } from '../commands/run-command';
import type { Settings } from '../configuration/settings';
import type { Log } from '../log/log';
import { lockState } from '../state/host-lock';
import { Agent, ClonedFault } from '../sync/agent';
import { commandFault } from './enrol';
import { agentParts, agentVersion, type Host, prepareState } from './host';
import { CommandFault, exitCodes, type ExitCode, type Output, printResult } from './output';
import { pointStates } from './status';

/** Until SIGTERM or SIGINT. */
export async function run(host: Host, settings: Settings, log: Log): Promise<ExitCode> {
  return await withAgent(host, settings, log, async (agent, { agentId, cluster }) => {
    log.info('agent started', {
      version: agentVersion,
      agent: agentId,
      cluster,
      server: settings.server.origin,
    });
    await agent.run();
    log.info('agent stopped');
    return exitCodes.fine;
  });
}

/** One round, for cron and configuration management. */
export async function once(host: Host, settings: Settings, log: Log, output: Output): Promise<ExitCode> {
  return await withAgent(host, settings, log, async (agent) => {
    let fault: Error | null = null;
    try {
      await agent.once();
    } catch (error) {
      fault = commandFault(error, agent.clock);
      if (!(fault instanceof CommandFault)) throw fault;
    }
    const problem = fault?.message ?? agent.problem();
    const journalOf = (order: string) => agent.installer.journals.of(order);
    const states = pointStates(settings, journalOf, agent.orders, agent.clock.now());
    const bad = states.filter(({ is_fine: isFine }) => !isFine);
    printResult(output, { problem, installations: states }, [
      ...states.map(({ text }) => text),
      ...(problem === null ? [] : [`problem: ${problem}`]),
    ]);
    if (fault instanceof CommandFault) return fault.exitCode;
    return bad.length > 0 || problem !== null ? exitCodes.problem : exitCodes.fine;
  });
}

async function withAgent(
  host: Host,
  settings: Settings,
  log: Log,
  use: (agent: Agent, identity: { readonly agentId: string; readonly cluster: string }) => Promise<ExitCode>,
): Promise<ExitCode> {
  prepareState(host, settings);
  const lock = lockState(host.files, settings.state);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once('SIGTERM', onSignal).once('SIGINT', onSignal);
  try {
    const parts = agentParts(host, settings, log, stop.signal);
    return await use(new Agent(parts), parts.identity);
  } catch (error) {
    if (error instanceof ClonedFault) throw new CommandFault(exitCodes.notEnrolled, error.message);
    throw error;
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
    killRunningCommands();
    lock.release();
  }
}
