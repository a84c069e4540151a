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
    private readonly read: (url: string, deadline: Deadline) => Promise<unknown>,
  ) {}

  async current(deadline: Deadline): Promise<Directory> {
    const known = this.#known;
    if (known !== undefined && this.now().getTime() - known.at < longestAgeMs) return known.directory;
    return await (this.#look ??= this.#read(deadline).finally(() => (this.#look = undefined)));
  }

  /** The next one to need it reads it anew. */
  forget(): void {
    this.#known = undefined;
  }

  async #read(deadline: Deadline): Promise<Directory> {
    const directory = readDirectory(await this.read(this.policy.directoryUrl, deadline), this.policy);
    this.#known = { directory, at: this.now().getTime() };
    return directory;
  }
}
