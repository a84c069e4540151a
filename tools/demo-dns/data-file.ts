import { open, readFile, rename, rm } from 'node:fs/promises';
import { isAtOrBelow, unwritable, type DnsName, type ZoneRecord } from '@certwright/dns-authority';
import { ConfigFault } from './config';

/** Records by the apex of their zone; each zone with its SOA. */
export type StoredZones = ReadonlyMap<DnsName, readonly ZoneRecord[]>;

const FORMAT = 'certwright-demo-dns-1';

/** Stores zones in one JSON file, which is replaced atomically: a crash leaves the old or the new one. */
export class DataFile {
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(private readonly path: string) {}

  /** @returns no zones when there is no file yet @throws ConfigFault when it has another format */
  async read(): Promise<StoredZones> {
    let text: string;
    try {
      text = await readFile(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
      throw error;
    }
    const zones = parse(text);
    if (zones === undefined) {
      throw new ConfigFault(
        'DATA_FILE',
        `${this.path} does not contain zones of this program; remove it to start with new zones.`,
      );
    }
    return zones;
  }

  /**
   * Resolves when the zones are on disk. Calls during a write share the next write, which calls `zones` when it
   * starts and so contains the changes of all callers.
   */
  save(zones: () => StoredZones): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const previous = this.#writing ?? Promise.resolve();
    const next = previous
      .catch(() => undefined)
      .then(() => {
        this.#writing = next;
        this.#next = undefined;
        return this.#write(zones());
      });
    this.#next = next;
    return next;
  }

  async #write(zones: StoredZones): Promise<void> {
    const draft = `${this.path}.${process.pid}.tmp`;
    const content = JSON.stringify({ format: FORMAT, zones: Object.fromEntries(zones) }, withHexBuffers, 1);
    try {
      const file = await open(draft, 'w', 0o600);
      try {
        await file.writeFile(content + '\n');
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, this.path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }
}

/**
 * Writes TXT strings as hex. JSON.stringify converts buffers to `{type: 'Buffer', data}` before it calls
 * this.
 */
function withHexBuffers(_key: string, value: unknown): unknown {
  const isBuffer =
    typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'Buffer';
  return isBuffer ? { hex: Buffer.from((value as { data: number[] }).data).toString('hex') } : value;
}

function parse(text: string): StoredZones | undefined {
  try {
    const file = JSON.parse(text, (_key, value: unknown) => {
      const hex = typeof value === 'object' && value !== null ? (value as { hex?: unknown }).hex : undefined;
      return typeof hex === 'string' ? Buffer.from(hex, 'hex') : value;
    }) as { format?: unknown; zones?: Record<string, ZoneRecord[]> };
    const zones = new Map(Object.entries(file.zones ?? {}));
    return file.format === FORMAT && [...zones].every(isSound) ? zones : undefined;
  } catch {
    return undefined;
  }
}

function isSound([apex, records]: readonly [DnsName, readonly ZoneRecord[]]): boolean {
  return (
    records.every((record) => unwritable(record) === undefined && isAtOrBelow(record.name, apex)) &&
    records.filter(({ type, name }) => type === 'SOA' && name === apex).length === 1
  );
}
