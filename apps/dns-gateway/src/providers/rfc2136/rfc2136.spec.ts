import { describeProvider } from '../testing/conformance';
import type { ProviderWorld } from '../testing/provider-world';
import { testPorts } from '../testing/test-ports';
import { rfc2136Provider } from './rfc2136';
import { emptied, nsupdate, zoneContent, zoneIn } from './testing/bind-tools';
import { lossyRelay, type LossyRelay } from './testing/lossy-relay';
import { describeWithPeers, type PeerKey, type PeerKind, type Peers, startPeers } from './testing/peers';

const zones = ['example.com', 'sub.example.com', 'example.org'] as const;
/** A late UDP response causes a retry, and then TCP; only TCP needs a long limit. */
const timeouts = { udpMs: [250, 500], tcpMs: 20_000 };
/** One address per suite, so that the two suites may run in parallel. */
const addresses = { bind: '127.0.0.21', knot: '127.0.0.22' } as const;

function credentialsOf(
  { address, port }: { readonly address: string; readonly port: number },
  key: PeerKey,
  names: readonly string[] = zones,
) {
  return {
    type: 'bearer',
    server: address,
    port: String(port),
    key_name: key.name,
    key_algorithm: key.algorithm,
    key_secret: key.secret,
    zones: names.join(', '),
  } as const;
}

describe.each(['bind', 'knot'] as const satisfies readonly PeerKind[])('a real %s', (kind) => {
  describeWithPeers([kind], 'takes dynamic updates', () => {
    let peers: Peers;
    let relay: LossyRelay;
    const address = addresses[kind];
    beforeAll(async () => {
      peers = await startPeers([{ kind, address, zones: zones.map((name) => ({ name })) }]);
      relay = await lossyRelay({ address, port: peers.port });
    }, 40_000);
    afterAll(async () => {
      await relay.close();
      await peers.stop();
    });

    const server = () => ({ address, port: peers.port });
    const zoneOf = (fqdn: string): string => zoneIn(zones, fqdn);

    async function setUp(): Promise<ProviderWorld> {
      const { full } = peers.keys;
      await emptied(server(), full, zones);
      relay.reset();
      return {
        provider: rfc2136Provider({ timeouts }),
        credentials: credentialsOf(relay, full),
        wrongCredentials: credentialsOf(relay, { ...full, secret: peers.keys.challenges.secret }),
        account: 'account-1',
        ports: testPorts(),
        zone: 'example.com',
        subZone: 'sub.example.com',
        zoneNames: zones,
        plant: async ({ fqdn, type, value }) => {
          const text = type === 'TXT' ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
          const said = await nsupdate(server(), full, zoneOf(fqdn), `add ${fqdn}. 77 ${type} ${text}`);
          if (said !== '') throw new Error(said);
        },
        list: async (fqdn) =>
          (await zoneContent(server(), [zoneOf(fqdn)], full)).filter((record) => record.fqdn === fqdn),
        loseNextResponse: () => relay.loseNextResponses(),
      };
    }

    describeProvider({ name: `rfc2136 at ${kind}`, setUp });
  });
});
