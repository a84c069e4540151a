import type { TakenQuestions } from '@certwright/redis';
import type { Logger } from '@certwright/service';
import { BaseRpcContext, type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';

export interface QuestionTransportOptions {
  readonly log: Logger;
  /** How long questions under way may take to be answered when the process stops, ms. */
  readonly drainMs: number;
}

/**
 * Carries questions to Nest's message handlers. In place of Nest's own Redis transport, for three reasons: that one is
 * publish/subscribe, so each copy of the prober would knock at the customer's server; it gives up when Redis is away as
 * it starts; and a connection lost later can end the process by a rejection nobody handles. Here a question goes to one
 * copy, from a list, and Redis may come and go.
 */
export class QuestionTransport extends Server implements CustomTransportStrategy {
  constructor(
    private readonly questions: TakenQuestions,
    private readonly options: QuestionTransportOptions,
  ) {
    super();
  }

  override listen(listening: () => void): void {
    this.questions.start(async (pattern, data) => await this.#answer(pattern, data));
    listening();
  }

  override async close(): Promise<void> {
    await this.questions.close(this.options.drainMs);
  }

  override on(): never {
    throw new Error('Questions have no events to listen to.');
  }

  override unwrap<T>(): T {
    return this.questions as T;
  }

  /** A question of a newer asker that nobody here understands stays without answer, as if there were no prober yet. */
  async #answer(pattern: string, data: unknown): Promise<unknown> {
    const handler = this.messageHandlers.get(pattern);
    if (handler === undefined) {
      this.options.log.warn({ pattern }, 'nobody here answers such a question');
      return undefined;
    }
    const context = new BaseRpcContext([pattern]);
    return await lastValueFrom(this.transformToObservable(await handler(data, context)));
  }
}
