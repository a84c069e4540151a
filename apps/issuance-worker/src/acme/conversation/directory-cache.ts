import type { Deadline } from '../connection/deadline';
import type { UrlPolicy } from '../connection/url-policy';
import { type Directory, readDirectory } from './directory';

const longestAgeMs = 60 * 60 * 1_000;

/** The directory as it was read last. Several that need it at once share one look. */
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

  /** As it was read last, if that is not too long ago. */
  get known(): Directory | null {
    const known = this.#known;
    return known !== undefined && this.now().getTime() - known.at < longestAgeMs ? known.directory : null;
  }

  /** The next one to need it reads it anew. */
  forget(): void {
    this.#known = undefined;
  }

  /** Now, by these means. */
  async read(
    deadline: Deadline,
    fetch: (url: string, deadline: Deadline) => Promise<unknown>,
  ): Promise<Directory> {
    const directory = readDirectory(await fetch(this.policy.directoryUrl, deadline), this.policy);
    this.#known = { directory, at: this.now().getTime() };
    return directory;
  }
}
