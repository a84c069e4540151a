import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Files } from '../files/files';
import { errorCode, fileFault } from '../files/durable';
import { type Owner, unsafeFile } from '../files/safe-path';
import { type StartTls, startTlsProtocols } from '../probes/starttls';
import { type ConfigurationFault, Faults, type Place, TableReader } from './table-reader';
import { readToml, type TomlTable } from './toml-tree';
import {
  type NamePattern,
  oneOf,
  readAddress,
  readDuration,
  readMode,
  readNamePattern,
  readPath,
  readProxy,
  readServer,
  readServerName,
  readWindow,
  type Window,
} from './values';

/** The configuration of a host. docs/agent.md explains each setting. */
export interface Settings {
  readonly server: URL;
  /** DNS names that may be in certificates of this host. */
  readonly names: readonly NamePattern[];
  /** Certificates that the server's own may lead to; null: the trust store of the system. */
  readonly caFile: string | null;
  readonly proxy: URL | null;
  readonly state: string;
  readonly keys: KeySettings;
  readonly services: ReadonlyMap<string, Service>;
  readonly points: readonly Point[];
}

export interface KeySettings {
  readonly rsaBits: 2048 | 3072 | 4096;
  readonly curve: 'P-256' | 'P-384';
  /** Makes the CSR, with a key that it keeps. */
  readonly csrCommand: readonly string[] | null;
}

/** A program that uses certificates. Commands are argument lists; there is no shell. */
export interface Service {
  readonly name: string;
  readonly test: readonly string[] | null;
  readonly reload: readonly string[] | null;
  /** Of each command. */
  readonly timeoutMs: number;
  readonly window: Window | null;
  readonly probes: readonly Probe[];
}

export interface Probe {
  readonly address: string;
  readonly serverName: string;
  readonly starttls: StartTls | null;
}

export const formats = ['folder', 'combined', 'pkcs12'] as const;
export type Format = (typeof formats)[number];

/** One installation of an order on this host. */
export interface Point {
  /** In reports: at most 100 characters, unique for its order. */
  readonly id: string;
  readonly order: string;
  readonly service: string | null;
  readonly format: Format;
  /** Null for `folder`, whose files are in the agent's state. */
  readonly path: string | null;
  readonly owner: string | null;
  readonly group: string | null;
  readonly mode: number;
  readonly passwordFile: string | null;
}

export const defaultConfigurationFile = '/etc/certwright-agent/agent.toml';
const defaultState = '/var/lib/certwright-agent';
/** Bytes of one file. */
const maxFileBytes = 1024 * 1024;
const defaultTimeoutMs = 30_000;

export type SettingsReading =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly faults: readonly ConfigurationFault[] };

/** Reads `agent.toml` and the files of `conf.d` beside it, in the order of their names. */
export function readSettings(files: Files, file: string, owner: Owner): SettingsReading {
  const faults = new Faults();
  const draft = new Draft(faults);
  for (const each of [file, ...additionalFiles(files, path.join(path.dirname(file), 'conf.d'), faults)]) {
    const root = readFile(files, each, owner, faults);
    if (root !== null) draft.add(new TableReader(each, root, '', faults));
  }
  // What a file that cannot be read would set is not known.
  const settings = faults.list.some(({ line }) => line === 0) ? null : draft.settings(file);
  return settings === null || faults.list.length > 0
    ? { ok: false, faults: faults.list }
    : { ok: true, settings };
}

function additionalFiles(files: Files, folder: string, faults: Faults): string[] {
  try {
    return files
      .list(folder)
      .filter((name) => name.endsWith('.toml') && !name.startsWith('.'))
      .map((name) => path.join(folder, name));
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') faults.add(folder, 0, '', fileFault(error));
    return [];
  }
}

function readFile(files: Files, file: string, owner: Owner, faults: Faults): TomlTable | null {
  const refused = (line: number, message: string): null => {
    faults.add(file, line, '', message);
    return null;
  };
  const unsafe = unsafeFile(files, file, owner);
  if (unsafe !== null) return refused(0, unsafe);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(files.read(file, maxFileBytes));
  } catch (error) {
    return refused(0, error instanceof TypeError ? 'is not UTF-8; save it as UTF-8' : fileFault(error));
  }
  const reading = readToml(text);
  return reading.ok ? reading.root : refused(reading.line, `is not TOML: ${reading.message}`);
}

/** The settings as far as they were read, with the place of each for errors between files. */
class Draft {
  private server: URL | undefined;
  private names: NamePattern[] | undefined;
  private caFile: string | undefined;
  private proxy: URL | undefined;
  private state: string | undefined;
  private keys: KeySettings | undefined;
  private readonly services = new Map<string, Service>();
  private readonly points: { readonly point: Point; readonly place: Place }[] = [];
  private readonly firstPlaces = new Map<string, Place>();

  constructor(private readonly faults: Faults) {}

  add(root: TableReader): void {
    const once = (name: string): boolean =>
      root.has(name) && this.isFirst(name, root.place(name), `is set twice; remove one of them`);
    const server = root.string('server', readServer);
    if (once('server')) this.server = server;
    const names = root.strings('names', readNamePattern);
    if (once('names')) this.names = names;
    const caFile = root.string('ca_file', readPath);
    if (once('ca_file')) this.caFile = caFile;
    const proxy = root.string('proxy', readProxy);
    if (once('proxy')) this.proxy = proxy;
    const state = root.string('state', readPath);
    if (once('state')) this.state = state;
    const keys = root.inner('keys');
    if (keys !== undefined && once('keys')) this.keys = readKeys(keys);
    for (const [name, table] of root.inner('service')?.innerTables() ?? []) this.addService(name, table);
    for (const table of root.innerList('install')) this.addPoint(table);
    root.end();
  }

  /** @returns null when a required setting is missing; each is reported */
  settings(file: string): Settings | null {
    if (this.server === undefined && !this.firstPlaces.has('server'))
      this.faults.add(file, 1, 'server', 'is missing; add server = "https://…", the address of Certwright');
    if (this.names === undefined && !this.firstPlaces.has('names'))
      this.faults.add(
        file,
        1,
        'names',
        'is missing; add the DNS names that this host may serve, such as names = ["www.example.com"]',
      );
    const state = this.state ?? defaultState;
    const keys = this.keys ?? { rsaBits: 2048, curve: 'P-256', csrCommand: null };
    for (const { point, place } of this.points) this.checkPoint(point, place, state, keys);
    if (this.server === undefined || this.names === undefined) return null;
    return {
      server: this.server,
      names: this.names,
      caFile: this.caFile ?? null,
      proxy: this.proxy ?? null,
      state,
      keys,
      services: this.services,
      points: this.points.map(({ point }) => point),
    };
  }

  private addService(name: string, table: TableReader): void {
    const test = table.strings('test');
    const reload = table.strings('reload');
    const timeoutMs = table.string('timeout', readDuration) ?? defaultTimeoutMs;
    const window = table.string('window', readWindow);
    const probes = table.innerList('probe').map(readProbe);
    table.end();
    const place = table.place();
    if (!/^[A-Za-z0-9][A-Za-z0-9_.@-]{0,49}$/.test(name))
      this.faults.add(
        place.file,
        place.line,
        place.key,
        'is not a name of a service; use 1 to 50 of A-Z a-z 0-9 _ . @ -',
      );
    if (!this.isFirst(`service.${name}`, place, 'is defined twice; remove one of them')) return;
    this.services.set(name, {
      name,
      test: test ?? null,
      reload: reload ?? null,
      timeoutMs,
      window: window ?? null,
      probes: probes.filter((probe) => probe !== null),
    });
  }

  private addPoint(table: TableReader): void {
    const order = table.required('order');
    const service = table.string('service') ?? null;
    const format = table.string('format', oneOf(...formats)) ?? 'folder';
    const file = table.string('path', readPath) ?? null;
    const owner = table.string('owner', readUser) ?? null;
    const group = table.string('group', readUser) ?? null;
    const mode = table.string('mode', readMode) ?? 0o600;
    const passwordFile = table.string('password_file', readPath) ?? null;
    table.end();
    if (format === 'folder')
      for (const name of ['path', 'owner', 'group', 'mode', 'password_file'])
        if (table.has(name))
          table.fault(
            name,
            'does not apply to format "folder", whose files are in the state folder; remove it, or use format "combined"',
          );
    if (format !== 'folder' && !table.has('path')) table.required('path');
    if (format === 'pkcs12' && !table.has('password_file')) table.required('password_file');
    if (format === 'combined' && table.has('password_file'))
      table.fault('password_file', 'applies to format "pkcs12" only; remove it');
    if (order === undefined) return;
    const id = pointId(format, file, service);
    const place = table.place();
    const target = file ?? `folder of order ${JSON.stringify(order)} for service ${service ?? '(none)'}`;
    if (
      !this.isFirst(
        `install ${target}`,
        place,
        'installs to the same place as another entry; remove one of them',
      )
    )
      return;
    this.points.push({
      point: { id, order, service, format, path: file, owner, group, mode, passwordFile },
      place,
    });
  }

  private checkPoint(point: Point, place: Place, state: string, keys: KeySettings): void {
    const { file, line, key } = place;
    if (point.service !== null && !this.services.has(point.service))
      this.faults.add(
        file,
        line,
        `${key}.service`,
        `there is no service ${JSON.stringify(point.service)}; add [service.${point.service}]`,
      );
    if (point.path !== null && `${point.path}/`.startsWith(`${state}/`))
      this.faults.add(file, line, `${key}.path`, 'is in the state folder of the agent; use another folder');
    if (point.format !== 'folder' && keys.csrCommand !== null)
      this.faults.add(
        file,
        line,
        `${key}.format`,
        `"${point.format}" contains the private key, which csr_command does not return; use "folder"`,
      );
  }

  /** Reports the second of two places. */
  private isFirst(what: string, place: Place, message: string): boolean {
    const first = this.firstPlaces.get(what);
    if (first !== undefined)
      this.faults.add(
        place.file,
        place.line,
        place.key,
        `${message}; the other one is in ${first.file}:${first.line}`,
      );
    else this.firstPlaces.set(what, place);
    return first === undefined;
  }
}

function readKeys(table: TableReader): KeySettings {
  const rsaBits = table.number('rsa', [2048, 3072, 4096]) ?? 2048;
  const curve = table.string('ecdsa', oneOf('P-256', 'P-384')) ?? 'P-256';
  const csrCommand = table.strings('csr_command') ?? null;
  table.end();
  return { rsaBits: rsaBits as KeySettings['rsaBits'], curve, csrCommand };
}

function readProbe(table: TableReader): Probe | null {
  const address = table.required('address', readAddress);
  const serverName = table.required('server_name', readServerName);
  const starttls = table.string('starttls', oneOf(...startTlsProtocols)) ?? null;
  table.end();
  return address === undefined || serverName === undefined ? null : { address, serverName, starttls };
}

/** A name, or a number in quotes. Whether it exists is checked when the file is written. */
function readUser(text: string): string {
  if (/^(?:[a-z_][a-z0-9_.-]{0,63}\$?|\d{1,10})$/i.test(text)) return text;
  throw new RangeError(
    `${JSON.stringify(text)} is not a user or group; write its name, or its number in quotes`,
  );
}

/** Of a long path, the end with a part of a hash. */
function pointId(format: Format, file: string | null, service: string | null): string {
  if (file === null) return service === null ? format : `${format}:${service}`;
  if (file.length <= 100) return file;
  return `${createHash('sha256').update(file).digest('hex').slice(0, 12)}…${file.slice(-80)}`;
}
