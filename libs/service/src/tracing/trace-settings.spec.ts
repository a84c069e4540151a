import { defineSettings, SettingsError } from '../config/settings';
import { traceSettings, tracesUrl } from './trace-settings';

const settings = defineSettings(traceSettings);

const faultsOf = (environment: Record<string, string>): string => {
  try {
    settings.read(environment);
    return '';
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
};

describe('the settings of traces', () => {
  it('turn them off by default', () => {
    expect(tracesUrl(settings.read({}))).toBeNull();
  });

  it('name the collector with or without the path', () => {
    const url = (environment: Record<string, string>) => tracesUrl(settings.read(environment));
    expect(url({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' })).toBe(
      'http://127.0.0.1:4318/v1/traces',
    );
    expect(url({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example/base/' })).toBe(
      'https://otlp.example/base/v1/traces',
    );
    const both = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://otlp.example/mine',
    };
    expect(url(both)).toBe('https://otlp.example/mine');
  });

  it('read headers and attributes as OpenTelemetry writes them, headers from a file too', () => {
    const read = settings.read(
      {
        OTEL_EXPORTER_OTLP_HEADERS_FILE: '/run/secrets/headers',
        OTEL_RESOURCE_ATTRIBUTES: 'k8s.pod.name=orders-v3-0, deployment.environment.name=a%2Cb',
      },
      () => 'authorization=Bearer%20abc=,x-team=7\n',
    );
    expect(read.OTEL_EXPORTER_OTLP_HEADERS).toEqual({ authorization: 'Bearer abc=', 'x-team': '7' });
    expect(read.OTEL_RESOURCE_ATTRIBUTES).toEqual({
      'k8s.pod.name': 'orders-v3-0',
      'deployment.environment.name': 'a,b',
    });
  });

  it('are refused by name, without the value of a secret', () => {
    expect(
      faultsOf({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
        OTEL_EXPORTER_OTLP_HEADERS: 'Bearer hunter22',
        OTEL_RESOURCE_ATTRIBUTES: 'a=%zz',
        OTEL_TRACES_SAMPLER: 'jaeger_remote',
        OTEL_TRACES_SAMPLER_ARG: '10%',
      }),
    ).toBe(
      [
        '5 settings are invalid:',
        '  OTEL_EXPORTER_OTLP_ENDPOINT is not a URL that begins with http:// or https://',
        '  OTEL_EXPORTER_OTLP_HEADERS is not name=value, separated by commas, with percent-encoded values',
        '  OTEL_RESOURCE_ATTRIBUTES is not name=value, separated by commas, with percent-encoded values',
        '  OTEL_TRACES_SAMPLER is none of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio',
        '  OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1',
      ].join('\n'),
    );
  });
});
