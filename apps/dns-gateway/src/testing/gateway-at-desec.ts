import { FakeDesec } from '../providers/desec/testing/fake-desec';
import { RunningGateway, type WireResponse } from './running-gateway';

export const owner = { account: '42', integration_id: 'int_7', provider: 'desec' };
export const record = {
  fqdn: '_acme-challenge.www.example.com',
  type: 'TXT',
  value: 'LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0',
};
export const aText = expect.any(String) as string;

/** Status and body in one. */
export const shown = ({ status, body }: WireResponse): unknown => ({ status, ...body });

/** A running gateway with a fake deSEC that has the zones example.com and example.net. */
export class GatewayAtDesec {
  private constructor(
    readonly desec: FakeDesec,
    readonly gateway: RunningGateway,
  ) {}

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<GatewayAtDesec> {
    const desec = await FakeDesec.open(['example.com', 'example.net']);
    const provider = { PROVIDER_URLS: `desec=${desec.server.url}`, REQUEST_TIME: '6s' };
    return new GatewayAtDesec(desec, await RunningGateway.start({ ...provider, ...settings }));
  }

  credentials() {
    return { type: 'bearer', token: this.desec.token };
  }

  /** Creates an integration and returns the members that later messages send. */
  async integrated() {
    const made = await this.gateway.post('make_integration', { ...owner, credentials: this.credentials() });
    return { ...owner, integration: String(made.body['integration']) };
  }

  values(fqdn: string): string[] {
    return this.desec.list(fqdn).map(({ value }) => value);
  }

  async close(): Promise<void> {
    await this.gateway.dispose();
    await this.desec.server.close();
  }
}
