import type { Deadline } from '../connection/deadline';
import type { UrlPolicy } from '../connection/url-policy';
import { type Directory, readDirectory } from './directory';

const maxAgeMs = 60 * 60 * 1_000;

/** Caches the directory. Concurrent callers share one request. */
export class DirectoryCache {
  #known: { readonly directory: Directory; readonly at: number } | undefined;
  #look: Promise<Directory> | undefined;

  constructor(
    private readonly policy: UrlPolicy,
    private readonly now: () => Date,
    private readonly fetch: (url: string, deadline: Deadline) => Promise<unknown>,
  ) {}

  async current(deadline: Deadline): Promise<Directory> {
    const { known } = this;
    if (known !== null) return known;
    return await (this.#look ??= this.read(deadline, this.fetch).finally(() => (this.#look = undefined)));
  }

  /** The cached directory; null when it is too old. */
  get known(): Directory | null {
    const known = this.#known;
    return known !== undefined && this.now().getTime() - known.at < maxAgeMs ? known.directory : null;
  }

  /** Makes the next caller read the directory again. */
  forget(): void {
    this.#known = undefined;
  }

  /** Reads the directory now, with the given client. */
  async read(
    deadline: Deadline,
    fetch: (url: string, deadline: Deadline) => Promise<unknown>,
  ): Promise<Directory> {
    const directory = readDirectory(await fetch(this.policy.directoryUrl, deadline), this.policy);
    this.#known = { directory, at: this.now().getTime() };
    return directory;
  }
}
