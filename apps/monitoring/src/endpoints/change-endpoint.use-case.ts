import { isDeepStrictEqual } from 'node:util';
import { Problem } from '@certwright/errors';
import { endpointJson, type EndpointRow, MonitoredEndpoints } from '@certwright/monitored-endpoints';
import { type CallerIdentity, type HttpResponse, jsonResponse } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { MonitoringChanges } from '../changes/monitoring-changes';
import { MonitoringConfig } from '../config';
import { noSuchEndpoint } from '../wire/problems';
import { endpointNameInPath, type EndpointRequest } from './endpoint';
import { Endpoints } from './endpoints.repository';

@Injectable()
export class ChangeEndpoint {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly monitored: MonitoredEndpoints,
    private readonly endpoints: Endpoints,
    @Inject(MonitoringConfig) private readonly config: Pick<MonitoringConfig, 'ENDPOINT_PORTS'>,
  ) {}

  /** @throws Problem `bad_request` for a port that is not allowed, `not_found` */
  async run(caller: CallerIdentity, text: string, request: Partial<EndpointRequest>): Promise<HttpResponse> {
    const allowed = this.config.ENDPOINT_PORTS;
    if (request.ports?.some((port) => !allowed.includes(port)) === true)
      throw Problem.ofFields([
        { field: 'ports', code: 'out_of_range', message: `Allowed ports are ${allowed.join(', ')}.` },
      ]);
    const name = endpointNameInPath(text);
    return await this.changes.run(caller, async ({ tx, accountId, record }) => {
      const before = await this.monitored.get(accountId, name, tx);
      if (before === null) throw noSuchEndpoint();
      const after = { ...before, ...request };
      const values = { before: recorded(before), after: recorded(after) };
      if (!isDeepStrictEqual(values.before, values.after)) {
        // What was not reported while it was muted is reported by the next check, if it is still wrong.
        const isDue = (before.muted && !after.muted) || !isDeepStrictEqual(before.ports, after.ports);
        await this.endpoints.change(tx, accountId, after, isDue);
        await record({ object: 'endpoint', name, action: 'changed', ...values });
      }
      return jsonResponse(200, endpointJson(after));
    });
  }
}

const recorded = ({ dns_name, muted, ports }: EndpointRow) => ({ dns_name, muted, ports });
