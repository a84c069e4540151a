import { type FieldFault, Problem } from '@certwright/errors';
import { GatewayFault, type GatewayFaultCode } from '@certwright/gateway-client';
import type { ProviderName, Zone } from '@certwright/gateway-contract';
import { type IntegrationProgress, type LeasedIntegration, nextZonesAt } from '@certwright/dns-integrations';

/** Seconds before retrying an unavailable service. */
const outageRetryAfterS = 30;
/** Seconds, when a provider requests a delay without a value. */
const defaultRetryAfterS = 60;

/** The customer gives the server's address; when it does not respond, the request is invalid. */
const namedByCustomer: ReadonlySet<ProviderName> = new Set(['acme-dns', 'powerdns', 'rfc2136']);

/** Of credentials that are tried for the first time. */
const refusals: ReadonlySet<GatewayFaultCode> = new Set([
  'provider_auth_failed',
  'provider_rejected',
  'zone_not_found',
  'request_too_large',
]);

/** Error for the caller when an integration cannot be created. */
export function creationProblem(error: unknown, provider: ProviderName): unknown {
  if (!(error instanceof GatewayFault)) return error;
  const { code, message } = error;
  const refused = refusals.has(code) || (code === 'provider_unavailable' && namedByCustomer.has(provider));
  if (refused) return Problem.ofFields([{ field: 'credentials', code: 'invalid_value', message }]);
  const faults = faultsOfCaller(error);
  return faults.length > 0 ? Problem.ofFields(faults) : gatewayProblem(error);
}

/** Error for the caller when the gateway fails through no fault of the request. */
export function gatewayProblem(error: unknown): unknown {
  if (!(error instanceof GatewayFault)) return error;
  const { code, message, retryAfterS } = error;
  switch (code) {
    case 'provider_auth_failed':
    case 'provider_rejected':
      return new Problem(code, message);
    case 'zone_not_found':
      return new Problem('provider_rejected', message);
    case 'bad_handle':
      return new Problem('conflict', 'The DNS integration can no longer be opened; create it again.');
    case 'provider_rate_limited':
    case 'provider_unavailable':
    case 'rate_limited':
      return new Problem(code, message, { retryAfterS: retryAfterS ?? defaultRetryAfterS });
    case 'unreachable':
    case 'service_outage':
    case 'timeout':
    case 'internal_error':
      return new Problem(
        'service_outage',
        'DNS integrations are temporarily unavailable. Please try again.',
        {
          retryAfterS: retryAfterS ?? outageRetryAfterS,
        },
      );
    default:
      // It rejects our identity or our request: an operator has to fix that.
      return new Error(`the DNS gateway rejected the request (${code})`, { cause: error });
  }
}

/** Of the members that the caller sent. */
function faultsOfCaller({ code, field, message, faults }: GatewayFault): readonly FieldFault[] {
  const sent = faults.filter((fault) => isOfCaller(fault.field));
  if (sent.length > 0 || field === undefined || !isOfCaller(field)) return sent;
  const known = code === 'missing_field' || code === 'out_of_range' ? code : 'invalid_value';
  return [{ field, code: known, message }];
}

const isOfCaller = (field: string): boolean =>
  field === 'provider' || field === 'credentials' || field.startsWith('credentials.');

/** Stored state of an integration whose zones were listed. */
export function afterListing(
  { now }: LeasedIntegration,
  zones: readonly Zone[],
  handle: string | undefined,
): IntegrationProgress {
  const working = { state: 'ok', problem: null, failures: 0, checkedAt: now } as const;
  return { ...working, zones, zonesDueAt: nextZonesAt(now, 0), ...(handle === undefined ? {} : { handle }) };
}

/** Stored state of one whose zones could not be listed. It fails when the provider reports so, not on a timeout. */
export function afterFault(
  { integration, now }: LeasedIntegration,
  fault: GatewayFault,
): IntegrationProgress {
  const failures = integration.failures + 1;
  const { code, message: saying, integration: handle } = fault;
  const problem = { code: 'dns_gateway_failed', fault: code, saying } as const;
  const failing = code === 'provider_auth_failed' || code === 'provider_rejected' || code === 'bad_handle';
  return {
    failures,
    zonesDueAt: nextZonesAt(now, failures),
    ...(failing ? { state: 'failing', problem, checkedAt: now } : {}),
    ...(handle === undefined ? {} : { handle }),
  };
}
