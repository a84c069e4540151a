import { Injectable, type OnModuleInit, SetMetadata } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { repeat, type Repeating } from './repeating';
import { RunningProcess } from './run-process';

/** Does what is due. @returns how long to wait before the next round, ms; 0: there is more to do */
export type RoundOfWork = () => Promise<number>;

const roundKey = 'certwright:round';

/** Repeats the method as long as the process runs. Other copies of the process may run it at the same time. */
export const Round = (name: string) =>
  SetMetadata(roundKey, name) as (
    target: object,
    method: string | symbol,
    descriptor: TypedPropertyDescriptor<RoundOfWork>,
  ) => void;

/** Wait after a round that failed, ms: the database or Redis is unavailable, and a little later is soon enough. */
const defaultAfterErrorMs = 1_000;

/** What the process does again and again: the methods of providers with `@Round`, and what providers add. */
@Injectable()
export class Rounds implements OnModuleInit {
  readonly #all = new Map<string, RoundOfWork>();
  readonly #stopping = new AbortController();
  #repeating: readonly Repeating[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly running: RunningProcess,
  ) {}

  onModuleInit(): void {
    for (const { instance } of this.discovery.getProviders().filter(({ isAlias }) => !isAlias)) {
      if (typeof instance !== 'object' || instance === null) continue;
      for (const method of this.scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object | null)) {
        const round = (instance as Record<string, RoundOfWork | undefined>)[method];
        const name: unknown = typeof round === 'function' ? Reflect.getMetadata(roundKey, round) : undefined;
        if (round !== undefined && typeof name === 'string') this.add(name, round.bind(instance));
      }
    }
  }

  /** For rounds that depend on the settings; called by `onModuleInit` of a provider. */
  add(name: string, round: RoundOfWork): void {
    if (this.#all.has(name)) throw new Error(`Two rounds are called "${name}".`);
    this.#all.set(name, round);
  }

  /** By name, once the application is initialized. */
  get all(): ReadonlyMap<string, RoundOfWork> {
    return this.#all;
  }

  /** Aborts when the process stops: for rounds that would keep it waiting. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  start(afterErrorMs = defaultAfterErrorMs): void {
    this.#repeating = [...this.#all].map(([name, round]) => {
      const onError = (error: unknown) =>
        this.running.log.warn({ round: name, err: error }, 'round failed; it is repeated');
      return repeat(round, { afterErrorMs, onError });
    });
  }

  /** Waits for the rounds that run. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#repeating.map(async (repeating) => await repeating.stop()));
  }
}
