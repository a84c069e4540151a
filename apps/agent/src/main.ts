import path from 'node:path';
import { parseArgs } from 'node:util';
import { readEnvironment } from './config';
import { defaultConfigurationFile } from './configuration/settings';
import { fileFault } from './files/durable';
import { LineLog } from './log/log';
import { check } from './program/check';
import { prune, uninstall } from './program/cleaning';
import { enrol } from './program/enrol';
import { agentVersion, settingsOf, thisHost } from './program/host';
import { CommandFault, exitCodes, type ExitCode, type Output } from './program/output';
import { once, run } from './program/run';
import { status } from './program/status';
import { TrustFault } from './protocol/trust-store';
import { LockedFault } from './state/host-lock';
import { StateFault } from './state/json-file';

const usage = `Installs certificates of Certwright on this host.

  certwright-agent <command> [--config <file>] [--json]

  enrol [--join-file <file>] [--name <name>] [--new]   joins the cluster of a join string, which is in the file, in the
                               variable CERTWRIGHT_JOIN or on standard input
  run                          runs until it is stopped
  once                         runs one round and ends
  status                       shows what is installed
  check                        checks configuration, folders, services and server; changes nothing
  prune                        removes what is no longer valid
  uninstall --yes              removes identity and keys; files that servers read stay

  --config <file>              default: ${defaultConfigurationFile}
  --json                       prints one JSON object
  --version, --help

Exit codes: 0 fine, 1 something is wrong (printed), 2 usage or configuration, 3 not enrolled or removed, 4 server unreachable.
`;

const commands = ['enrol', 'run', 'once', 'status', 'check', 'prune', 'uninstall'] as const;

function argumentsOf() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        config: { type: 'string' },
        json: { type: 'boolean', default: false },
        'join-file': { type: 'string' },
        name: { type: 'string' },
        new: { type: 'boolean', default: false },
        yes: { type: 'boolean', default: false },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new CommandFault(
      exitCodes.usage,
      `${error instanceof Error ? error.message : String(error)}\n\n${usage}`,
    );
  }
}

async function main(): Promise<ExitCode> {
  const { values, positionals } = argumentsOf();
  if (values.version) return printed(`${agentVersion}\n`);
  if (values.help) return printed(usage);
  const [name, ...rest] = positionals;
  const command = commands.find((each) => each === name);
  if (command === undefined || rest.length > 0)
    throw new CommandFault(
      exitCodes.usage,
      `${name === undefined ? 'no command' : `unknown command or argument: ${[name, ...rest].join(' ')}`}\n\n${usage}`,
    );
  const environment = readEnvironment();
  const host = thisHost(environment);
  const output: Output = {
    print: (text) => process.stdout.write(text),
    printError: (text) => process.stderr.write(text),
    isJson: values.json,
  };
  const log = new LineLog((line) => process.stderr.write(line), environment.isJournal);
  const settings = settingsOf(
    host,
    path.resolve(values.config ?? environment.configurationFile ?? defaultConfigurationFile),
  );
  switch (command) {
    case 'enrol':
      return await enrol(
        host,
        settings,
        { joinFile: values['join-file'], name: values.name, isNew: values.new },
        output,
      );
    case 'run':
      return await run(host, settings, log);
    case 'once':
      return await once(host, settings, log, output);
    case 'status':
      return status(host, settings, output);
    case 'check':
      return await check(host, settings, output);
    case 'prune':
      return await prune(host, settings, log, output);
    case 'uninstall':
      return uninstall(host, settings, values.yes, output);
  }
}

function printed(text: string): ExitCode {
  process.stdout.write(text);
  return exitCodes.fine;
}

/** One message for every error that is not a defect of the program. */
function ended(error: unknown): ExitCode {
  const [exitCode, message] = describe(error);
  process.stderr.write(`certwright-agent: ${message}\n`);
  return exitCode;
}

function describe(error: unknown): [ExitCode, string] {
  if (error instanceof CommandFault) return [error.exitCode, error.message];
  if (error instanceof LockedFault || error instanceof StateFault || error instanceof TrustFault)
    return [exitCodes.problem, error.message];
  if (error instanceof Error && 'syscall' in error) return [exitCodes.problem, fileFault(error)];
  return [exitCodes.problem, error instanceof Error ? (error.stack ?? error.message) : String(error)];
}

main()
  .catch(ended)
  .then((exitCode) => {
    // A background process of a reload may hold a pipe open.
    process.exitCode = exitCode;
    process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
  });
