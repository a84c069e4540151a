import { oneOf, string, url } from '../config/setting-kinds';
import { type Setting, settingOf } from '../config/setting';

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

export type NamedValues = Readonly<Record<string, string>>;

/** RFC 9110, section 5.6.2. Resource attributes have such names too. */
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** `name=value`, separated by commas; the values are percent-encoded, as in W3C Baggage. */
const namedValues = <D extends NamedValues | null>(described: {
  readonly meaning: string;
  readonly default: D;
  readonly secret: boolean;
}): Setting<NamedValues | D> =>
  settingOf<NamedValues, D>(
    {
      unit: 'name=value, separated by commas',
      secret: described.secret,
      read: (text) => {
        const values = readNamedValues(text);
        return values === null
          ? { fault: 'is not name=value, separated by commas, with percent-encoded values' }
          : { value: values };
      },
      show: (values) =>
        Object.entries(values)
          .map((pair) => pair.join('='))
          .join(',') || 'empty',
    },
    described,
  );

function readNamedValues(text: string): NamedValues | null {
  const values: Record<string, string> = {};
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue;
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(0, at)).trim();
    try {
      const value = decodeURIComponent(pair.slice(at + 1).trim());
      if (!token.test(name) || /\p{Cc}/u.test(value)) return null;
      values[name] = value;
    } catch {
      return null;
    }
  }
  return values;
}

const ratio = (described: { readonly meaning: string; readonly default: number }): Setting<number> =>
  settingOf<number, number>(
    {
      unit: '0–1',
      read: (text) =>
        /^(0|1|0?\.\d{1,9}|[01]\.\d{1,9})$/.test(text) && Number(text) <= 1
          ? { value: Number(text) }
          : { fault: 'is not a number from 0 to 1' },
    },
    described,
  );

/** The variables of OpenTelemetry that every process reads. Its SDK is loaded only when an endpoint is set. */
export const traceSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url<null>({
    meaning:
      'Collector that gets spans by OTLP/HTTP (http/json), without /v1/traces; empty: the process records no spans',
    schemes: ['http', 'https'],
    default: null,
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url<null>({
    meaning: 'The same with its whole path; used instead of OTEL_EXPORTER_OTLP_ENDPOINT',
    schemes: ['http', 'https'],
    default: null,
  }),
  OTEL_EXPORTER_OTLP_HEADERS: namedValues({
    meaning: 'Headers of requests to the collector, such as authorization=Bearer%20TOKEN',
    default: null,
    secret: true,
  }),
  OTEL_SERVICE_NAME: string<null>({
    meaning: 'service.name of the spans; empty: the name of the process',
    default: null,
  }),
  OTEL_RESOURCE_ATTRIBUTES: namedValues({
    meaning: 'Attributes of the process on every span, such as deployment.environment.name=production',
    default: {},
    secret: false,
  }),
  OTEL_TRACES_SAMPLER: oneOf(samplers, {
    meaning:
      'Which traces are recorded; parentbased: those that another process of the platform records, and of new ones what the rest of the name says',
    default: 'parentbased_always_on',
  }),
  OTEL_TRACES_SAMPLER_ARG: ratio({
    meaning: 'Share of new traces that traceidratio and parentbased_traceidratio record',
    default: 1,
  }),
};

export interface TraceConfig {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT: string | null;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: string | null;
  readonly OTEL_EXPORTER_OTLP_HEADERS: NamedValues | null;
  readonly OTEL_SERVICE_NAME: string | null;
  readonly OTEL_RESOURCE_ATTRIBUTES: NamedValues;
  readonly OTEL_TRACES_SAMPLER: SamplerName;
  readonly OTEL_TRACES_SAMPLER_ARG: number;
}

/** @returns null: traces are off */
export function tracesUrl(config: Partial<TraceConfig>): string | null {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  if (traces) return traces;
  return endpoint ? `${endpoint.replace(/\/+$/, '')}/v1/traces` : null;
}
