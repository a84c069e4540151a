import { gatewayEndpoints } from '@certwright/gateway-contract';
import { type Setting, SettingsError } from '@certwright/service';
import { clientIdentityPattern } from './client-identity';

/** Grants of a client: the four messages and the description. */
export const grants = [...gatewayEndpoints, 'description'] as const;
export type Grant = (typeof grants)[number];

export interface ClientGrant {
  readonly identity: string;
  readonly grants: ReadonlySet<Grant>;
}

/** Grants per identity. An identity that is not listed has none. */
export class ClientGrants {
  readonly #byIdentity: ReadonlyMap<string, ReadonlySet<Grant>>;

  /** @throws SettingsError when an identity is listed twice, which would be ambiguous */
  constructor(clients: readonly ClientGrant[]) {
    this.#byIdentity = new Map(clients.map((client) => [client.identity, client.grants]));
    if (this.#byIdentity.size < clients.length)
      throw new SettingsError([{ name: 'GATEWAY_CLIENTS', fault: 'has an identity twice' }]);
  }

  allows(identity: string, grant: Grant): boolean {
    return this.#byIdentity.get(identity)?.has(grant) ?? false;
  }
}

/** One entry of the list: `spiffe://…/issuance-worker=get_zones+add_record+remove_record`. */
export const clientGrant: Setting<ClientGrant> = {
  meaning: 'A client',
  unit: `identity=endpoint+endpoint, endpoints ${grants.join(', ')}`,
  secret: false,
  read: (text) => {
    const [identity = '', list = '', ...rest] = text.split('=');
    if (rest.length > 0 || !clientIdentityPattern.test(identity)) {
      return {
        fault: 'does not begin with an identity such as spiffe://certwright.internal/issuance-worker=',
      };
    }
    const named = list.split('+');
    const known = grants.filter((grant) => named.includes(grant));
    return known.length === named.length
      ? { value: { identity, grants: new Set(known) } }
      : { fault: `names an endpoint that is none of ${grants.join(', ')}, or one twice` };
  },
  show: ({ identity, grants: granted }) => `${identity}=${[...granted].join('+')}`,
};
