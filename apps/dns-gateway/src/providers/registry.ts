import type { ProviderName } from '@certwright/gateway-contract';
import { acmeDnsProvider } from './acme-dns/acme-dns';
import { azureProvider } from './azure/azure';
import { cloudflareProvider } from './cloudflare/cloudflare';
import { desecProvider } from './desec/desec';
import { digitalOceanProvider } from './digitalocean/digitalocean';
import type { DnsProvider } from './dns-provider';
import { dnsimpleProvider } from './dnsimple/dnsimple';
import { gandiProvider } from './gandi/gandi';
import { googleProvider } from './google/google';
import { hetznerProvider } from './hetzner/hetzner';
import { linodeProvider } from './linode/linode';
import type { AzureSettings, OperatorSettings } from './operator';
import { ovhProvider } from './ovh/ovh';
import { powerdnsProvider } from './powerdns/powerdns';
import { withZoneLocks, ZoneLocks } from './records/zone-locks';
import { rfc2136Provider } from './rfc2136/rfc2136';
import { route53Provider } from './route53/route53';

export type Providers = ReadonlyMap<ProviderName, DnsProvider>;

/** Injection token. */
export const Providers = Symbol('Providers');

/**
 * Every provider, as configured by the operator. Changes of one zone are serialized within this process, at every
 * provider: most have no compare-and-swap, and for the others it saves attempts that would fail.
 */
export function providers(operator: OperatorSettings): Providers {
  const { oauth, aws, baseUrls, loginUrls = {}, rfc2136Port } = operator;
  const all = {
    'acme-dns': acmeDnsProvider(),
    azure: azureProvider({ baseUrl: baseUrls.azure, loginUrl: loginUrls.azure, azure: azureOf(operator) }),
    cloudflare: cloudflareProvider({
      baseUrl: baseUrls.cloudflare,
      oauthUrl: loginUrls.cloudflare,
      oauth: oauth.cloudflare,
    }),
    desec: desecProvider({ baseUrl: baseUrls.desec }),
    digitalocean: digitalOceanProvider({
      baseUrl: baseUrls.digitalocean,
      oauthUrl: loginUrls.digitalocean,
      oauth: oauth.digitalocean,
    }),
    dnsimple: dnsimpleProvider({
      baseUrl: baseUrls.dnsimple,
      oauthUrl: loginUrls.dnsimple,
      oauth: oauth.dnsimple,
    }),
    gandi: gandiProvider({ baseUrl: baseUrls.gandi }),
    google: googleProvider({ baseUrl: baseUrls.google, oauthUrl: loginUrls.google, oauth: oauth.google }),
    hetzner: hetznerProvider({ baseUrl: baseUrls.hetzner }),
    linode: linodeProvider({ baseUrl: baseUrls.linode }),
    ovh: ovhProvider({ baseUrl: baseUrls.ovh }),
    powerdns: powerdnsProvider(),
    rfc2136: rfc2136Provider({ defaultPort: rfc2136Port }),
    route53: route53Provider({ baseUrl: baseUrls.route53, stsUrl: loginUrls.route53, aws }),
  } satisfies Record<ProviderName, DnsProvider>;
  const locks = new ZoneLocks();
  return new Map(Object.values(all).map((provider) => [provider.name, withZoneLocks(provider, locks)]));
}

function azureOf({
  azure,
  aws,
}: OperatorSettings): (AzureSettings & { readonly externalIdSecret: string }) | null {
  const externalIdSecret = azure?.externalIdSecret ?? aws?.externalIdSecret;
  return azure === null || externalIdSecret === undefined ? null : { ...azure, externalIdSecret };
}
