import type { Integrated, MaybeResealed, ProviderName } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { HandleKeys, type OpenedIntegration } from '../handles/handle-keys';
import { type DnsProvider, ProviderPorts, type ProviderSession } from '../providers/dns-provider';
import { ProviderFault } from '../providers/provider-fault';
import { Providers } from '../providers/registry';
import { problemOfProvider, ProblemWithHandle } from '../wire/problem';
import { RefusedHandles } from './refused-handles';
import type { RequestContext } from './request-bounds';

/** Opens integration handles. Seals them again when their content has changed, whether the work succeeds or fails. */
@Injectable()
export class IntegrationAccess {
  constructor(
    private readonly handles: HandleKeys,
    @Inject(Providers) private readonly providers: Providers,
    @Inject(ProviderPorts) private readonly ports: ProviderPorts,
    private readonly refusedHandles: RefusedHandles,
    @Inject(RunningProcess) private readonly running: Pick<RunningProcess, 'log'>,
  ) {}

  /** @throws Problem; anything else is an internal error */
  async use<T extends object>(
    integrated: Integrated,
    context: RequestContext,
    work: (session: ProviderSession) => Promise<T>,
  ): Promise<T & MaybeResealed> {
    const { requestId, signal } = context;
    const opened = await this.#opened(integrated, context);
    let session: ProviderSession | undefined;
    const resealed = (): MaybeResealed => this.#resealed(integrated, opened, session, requestId);
    try {
      const provider = providerOf(this.providers, integrated.provider);
      session = provider.session(opened.kept, integrated.account, this.ports, signal);
      const response = await work(session);
      return { ...response, ...resealed() };
    } catch (error) {
      const { integration } = resealed();
      const problem = problemOf(error, signal);
      if (isBadHandle(error)) await this.refusedHandles.record(integrated, 'record', context);
      if (integration === undefined) throw problem ?? error;
      if (problem === undefined)
        this.running.log.error({ err: error, request_id: requestId }, 'a request failed');
      throw new ProblemWithHandle(problem ?? unexpected(), integration);
    }
  }

  /** @throws Problem `bad_handle` */
  async #opened(integrated: Integrated, context: RequestContext): Promise<OpenedIntegration> {
    try {
      return this.handles.openIntegration(integrated, integrated.integration);
    } catch (error) {
      if (isBadHandle(error)) await this.refusedHandles.record(integrated, 'integration', context);
      throw error;
    }
  }

  /** Never throws: a completed change is reported even when the handle cannot be sealed. */
  #resealed(
    owner: Integrated,
    { kept, isRetiring }: OpenedIntegration,
    session: ProviderSession | undefined,
    requestId: string,
  ): MaybeResealed {
    try {
      const renewed = session?.renewed() ?? (isRetiring ? kept : null);
      return renewed === null ? {} : { integration: this.handles.sealIntegration(owner, renewed) };
    } catch (err) {
      this.running.log.error(
        { err, request_id: requestId, integration_id: owner.integration_id },
        'renewed credentials are lost',
      );
      return {};
    }
  }
}

const isBadHandle = (error: unknown): boolean => error instanceof Problem && error.code === 'bad_handle';

export function providerOf(providers: Providers, name: ProviderName): DnsProvider {
  const provider = providers.get(name);
  if (provider !== undefined) return provider;
  throw new Problem('invalid_value', 'This gateway does not know the provider.', { field: 'provider' });
}

/** Maps an error to a response; undefined: unexpected error. */
export function problemOf(error: unknown, signal: AbortSignal): Problem | undefined {
  if (error instanceof Problem) return error;
  if (signal.aborted)
    return new Problem(
      'timeout',
      'The provider took too long. Whether it made a change is not known: ask again.',
    );
  return error instanceof ProviderFault ? problemOfProvider(error) : undefined;
}

const unexpected = (): Problem => new Problem('internal_error', 'Something went wrong on our side.');
