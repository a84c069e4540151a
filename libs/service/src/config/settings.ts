import { readFileSync } from 'node:fs';
import type { Reading, Setting } from './setting';

export type Environment = Readonly<Record<string, string | undefined>>;

type SettingTable = Readonly<Record<string, Setting<unknown>>>;

export type SettingValues<S extends SettingTable> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

/** Lists every invalid setting, so that a deployment is fixed in one restart. */
export class SettingsError extends Error {
  constructor(readonly faults: readonly { readonly name: string; readonly fault: string }[]) {
    const lines = faults.map(({ name, fault }) => `  ${name} ${fault}`);
    super(
      `${faults.length === 1 ? 'A setting is' : `${faults.length} settings are`} invalid:\n${lines.join('\n')}`,
    );
    this.name = 'SettingsError';
  }
}

export interface Settings<S extends SettingTable> {
  readonly table: S;
  /**
   * Reads every setting. An empty variable counts as absent, since Compose files and manifests set such variables.
   *
   * @param readFile reads the file that `NAME_FILE` names, for secrets only
   * @throws SettingsError with all errors; it contains no values
   */
  read(environment: Environment, readFile?: (path: string) => string): SettingValues<S>;
  /** The manual: a Markdown table of name, meaning, unit and default. */
  describe(): string;
}

/**
 * The settings of a process. The table is the manual: meaning, unit, default. A setting without a default is
 * required.
 */
export function defineSettings<const S extends SettingTable>(table: S): Settings<S> {
  return {
    table,
    read: (environment, readFile = (path) => readFileSync(path, 'utf8')) =>
      readAll(table, environment, readFile) as SettingValues<S>,
    describe: () => describeAll(table),
  };
}

function readAll(table: SettingTable, environment: Environment, readFile: (path: string) => string): object {
  const values: Record<string, unknown> = {};
  const faults: { name: string; fault: string }[] = [];
  for (const [name, setting] of Object.entries(table)) {
    const reading = readOne(name, setting, environment, readFile);
    if ('fault' in reading) faults.push({ name, fault: reading.fault });
    else values[name] = reading.value;
  }
  if (faults.length > 0) throw new SettingsError(faults);
  return values;
}

function readOne(
  name: string,
  setting: Setting<unknown>,
  environment: Environment,
  readFile: (path: string) => string,
): Reading<unknown> {
  const text = environment[name] ?? '';
  const file = setting.secret ? (environment[`${name}_FILE`] ?? '') : '';
  if (text !== '' && file !== '') return { fault: `is given twice: unset either it or ${name}_FILE` };
  if (text !== '') return setting.read(text);
  if (file !== '') {
    const again = () => readSecretFile(name, setting, file, readFile);
    const reading = again();
    return 'value' in reading && setting.follow ? { value: setting.follow(reading.value, again) } : reading;
  }
  if ('default' in setting) return { value: setting.default };
  return { fault: `is missing: ${setting.meaning}` };
}

function readSecretFile(
  name: string,
  setting: Setting<unknown>,
  path: string,
  readFile: (path: string) => string,
): Reading<unknown> {
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    return { fault: `cannot be read from the file that ${name}_FILE names (${reason})` };
  }
  // Editors and `echo` append a line break.
  const reading = setting.read(text.replace(/\r?\n$/, ''));
  return 'fault' in reading ? { fault: `in the file that ${name}_FILE names ${reading.fault}` } : reading;
}

function describeAll(table: SettingTable): string {
  const rows = Object.entries(table).map(([name, setting]) => {
    const names = setting.secret ? `\`${name}\` (or \`${name}_FILE\`)` : `\`${name}\``;
    return `| ${names} | ${escapeCell(setting.meaning)} | ${escapeCell(setting.unit)} | ${escapeCell(showDefault(setting))} |`;
  });
  return ['| setting | meaning | unit | default |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function showDefault(setting: Setting<unknown>): string {
  if (!('default' in setting)) return 'required';
  return setting.secret && setting.default !== null ? '(not shown)' : setting.show(setting.default);
}

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
