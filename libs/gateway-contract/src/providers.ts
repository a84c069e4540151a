/** Every DNS provider that the gateway knows, by the name that integrations carry. A name is never used for another provider. */
export const providerNames = [
  'acme-dns',
  'azure',
  'cloudflare',
  'desec',
  'digitalocean',
  'dnsimple',
  'gandi',
  'google',
  'hetzner',
  'linode',
  'ovh',
  'powerdns',
  'rfc2136',
  'route53',
] as const;

export type ProviderName = (typeof providerNames)[number];
