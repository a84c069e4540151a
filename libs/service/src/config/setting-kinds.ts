import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { Secret } from './secret';
import { type Described, type Reading, type Setting, settingOf } from './setting';

const fault = (text: string): { readonly fault: string } => ({ fault: text });

/** Any non-empty text, optionally restricted by `pattern`. */
export function string<D extends string | null = string>(
  described: Described<D> & { readonly pattern?: RegExp },
): Setting<string | NoInfer<D>> {
  const { pattern } = described;
  const read = (text: string): Reading<string> =>
    pattern === undefined || pattern.test(text) ? { value: text } : fault(`does not match ${pattern}`);
  return settingOf<string, D>({ unit: 'text', read }, described);
}

/** A URL with one of the schemes (without colon). Treated as a secret, since it may contain a password. */
export function url<D extends string | null = string>(
  described: Described<D> & { readonly schemes: readonly string[] },
): Setting<string | NoInfer<D>> {
  const schemes = described.schemes.map((scheme) => `${scheme}://`).join(' or ');
  const read = (text: string): Reading<string> => {
    return isUrlOf(described.schemes, text)
      ? { value: text }
      : fault(`is not a URL that begins with ${schemes}`);
  };
  return settingOf<string, D>({ unit: `URL, ${schemes}`, secret: true, read }, described);
}

/** The parser also accepts `https:host`, spaces around a URL, and with other schemes than http a URL without a host. */
function isUrlOf(schemes: readonly string[], text: string): boolean {
  const [, scheme = ''] = /^([a-z]+):\/\/[^\s/?#]\S*$/i.exec(text) ?? [];
  return schemes.includes(scheme.toLowerCase()) && URL.canParse(text);
}

/** What URLs of a server begin with. Not a secret. */
export function baseUrl(described: Described<string>): Setting<string> {
  const read = (text: string): Reading<string> =>
    isUrlOf(['http', 'https'], text) && !/[?#]|\/$/.test(text)
      ? { value: text }
      : fault(
          'is not a URL that begins with http:// or https://, has no query or fragment, and ends without a slash',
        );
  return settingOf<string, string>({ unit: 'URL, http:// or https://', read }, described);
}

/** A whole number; the error message and the manual name its unit and range. */
export function integer<D extends number | null = number>(
  described: Described<D> & { readonly unit: string; readonly min: number; readonly max: number },
): Setting<number | NoInfer<D>> {
  const { unit, min, max } = described;
  const read = (text: string): Reading<number> => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max
      ? { value }
      : fault(`is not a whole number from ${min} to ${max} (${unit})`);
  };
  return settingOf<number, D>({ unit: `${unit}, ${min}–${max}`, read }, described);
}

/** A TCP or UDP port to listen on; 0: any free port. */
export function port<D extends number | null = number>(
  described: Described<D>,
): Setting<number | NoInfer<D>> {
  return integer<D>({ ...described, unit: 'port', min: 0, max: 65_535 });
}

export interface HostPort {
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `name:53`, `192.0.2.1:53` or `[2001:db8::1]:53`. */
export function hostPort<D extends HostPort | null = HostPort>(
  described: Described<D>,
): Setting<HostPort | NoInfer<D>> {
  const read = (text: string): Reading<HostPort> => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
    const host = match?.[1] ?? match?.[2];
    const number = Number(match?.[3]);
    const holds =
      host !== undefined && (match?.[1] === undefined || isIP(host) === 6) && number >= 1 && number <= 65_535;
    return holds
      ? { value: { host, port: number } }
      : fault('is not host:port; put an IPv6 address in brackets');
  };
  const show = (value: HostPort): string =>
    isIP(value.host) === 6 ? `[${value.host}]:${value.port}` : `${value.host}:${value.port}`;
  return settingOf<HostPort, D>({ unit: 'host:port', read, show }, described);
}

/** `10.0.0.0/8` or `2001:db8::/32`; with `orAddress` also a single address, and not every address (`/0`). */
export function network(described: {
  readonly meaning: string;
  readonly orAddress?: boolean;
}): Setting<string> {
  const { orAddress = false } = described;
  const read = (text: string): Reading<string> => {
    const [address = '', bits, ...more] = text.split('/');
    const maxBits = isIP(address) === 4 ? 32 : 128;
    const isOfRange =
      bits === undefined
        ? orAddress
        : /^\d{1,3}$/.test(bits) && Number(bits) >= (orAddress ? 1 : 0) && Number(bits) <= maxBits;
    return isIP(address) !== 0 && isOfRange && more.length === 0
      ? { value: text }
      : fault(`is not ${orAddress ? 'an address, or ' : ''}a network such as 10.0.0.0/8 or 2001:db8::/32`);
  };
  return settingOf<string, never>({ unit: orAddress ? 'address or network' : 'network', read }, described);
}

const msPerUnit: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A duration: a number with `ms`, `s`, `m`, `h` or `d`, or a bare number of milliseconds. The value is in ms. */
export function durationMs<D extends number | null = number>(
  described: Described<D> & { readonly minMs?: number; readonly maxMs?: number },
): Setting<number | NoInfer<D>> {
  const { minMs = 0, maxMs = 365 * 86_400_000 } = described;
  const read = (text: string): Reading<number> => {
    const match = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(text);
    if (match === null) return fault('is not a duration such as 250ms, 10s, 5m, 2h or 1d');
    const value = Number(match[1]) * (msPerUnit[match[2] ?? 'ms'] ?? NaN);
    return value >= minMs && value <= maxMs
      ? { value }
      : fault(`is not between ${showDuration(minMs)} and ${showDuration(maxMs)}`);
  };
  return settingOf<number, D>({ unit: 'ms, s, m, h or d', read, show: showDuration }, described);
}

function showDuration(valueMs: number): string {
  const descending = Object.entries(msPerUnit).reverse();
  const [unit, ms] = descending.find(([, each]) => valueMs >= each && valueMs % each === 0) ?? ['ms', 1];
  return `${valueMs / ms}${unit}`;
}

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false, '1': true, '0': false };

export function boolean<D extends boolean | null = boolean>(
  described: Described<D>,
): Setting<boolean | NoInfer<D>> {
  const read = (text: string): Reading<boolean> => {
    const value = booleans[text.toLowerCase()];
    return value === undefined ? fault('is neither true nor false') : { value };
  };
  return settingOf<boolean, D>({ unit: 'true or false', read }, described);
}

/** One value of a closed list. */
export function oneOf<const V extends string>(
  values: readonly V[],
  described: Described<NoInfer<V>>,
): Setting<V>;
export function oneOf<const V extends string>(
  values: readonly V[],
  described: Described<null>,
): Setting<V | null>;
export function oneOf<V extends string>(
  values: readonly V[],
  described: Described<V | null>,
): Setting<V | null> {
  const read = (text: string): Reading<V> => {
    const value = values.find((each) => each === text);
    return value === undefined ? fault(`is none of ${values.join(', ')}`) : { value };
  };
  return settingOf<V, V | null>({ unit: values.join(', '), read }, described);
}

/** Values of another kind, separated by commas. Surrounding spaces and empty entries are ignored. */
export function list<T>(
  element: Setting<T>,
  described: { readonly meaning: string; readonly default?: readonly T[] },
): Setting<readonly T[]> {
  const read = (text: string): Reading<readonly T[]> => {
    const values: T[] = [];
    for (const part of text.split(',').map((each) => each.trim())) {
      if (part === '') continue;
      const reading = element.read(part);
      if ('fault' in reading) return fault(`has an entry that ${reading.fault}`);
      values.push(reading.value);
    }
    return { value: values };
  };
  const show = (values: readonly T[]): string => values.map(element.show).join(',') || 'empty';
  return settingOf<readonly T[], readonly T[]>(
    { unit: `list of ${element.unit}`, secret: element.secret, read, show },
    described,
  );
}

/** The path of a file, which need not exist yet. */
export function filePath<D extends string | null = string>(
  described: Described<D>,
): Setting<string | NoInfer<D>> {
  const read = (text: string): Reading<string> =>
    text.includes('\0') ? fault('is not a path') : { value: text };
  return settingOf<string, D>({ unit: 'path', read }, described);
}

/** The path of a file that exists and may be read. */
export function readableFile<D extends string | null = string>(
  described: Described<D>,
): Setting<string | NoInfer<D>> {
  const read = (text: string): Reading<string> => {
    try {
      accessSync(text, constants.R_OK);
      return { value: text };
    } catch (error) {
      return fault(
        `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unreadable'})`,
      );
    }
  };
  return settingOf<string, D>({ unit: 'path', read }, described);
}

/** A secret, wrapped so that it is not printed by accident. */
export function secret<D extends Secret | null = Secret>(
  described: Described<D> & { readonly minLength?: number },
): Setting<Secret | NoInfer<D>> {
  const { minLength = 1 } = described;
  const read = (text: string): Reading<Secret> =>
    text.length < minLength ? fault(`is shorter than ${minLength} characters`) : { value: new Secret(text) };
  return settingOf<Secret, D>({ unit: 'secret', secret: true, read }, described);
}
