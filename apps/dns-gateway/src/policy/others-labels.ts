/**
 * Unregistered underscored labels that other services read: to send mail, to discover a service, to verify the
 * ownership of a domain. A token or a delegation there would grant that to its writer. An asterisk matches anything;
 * a label matches anywhere in the name. Underscores are omitted.
 */
export const othersLabels: readonly string[] = [
  // Mail: SMTP TLS reporting (RFC 8460: `_smtp._tls`), BIMI, senders' own verification and SPF includes.
  ...['tls', 'smtp*', 'bimi', 'amazonses', 'mailchannels', 'mail*', 'adsp', 'report', 'dkim*', 'dmarc*'],
  ...['spf*', 'mta*', 'netblocks*', 'arc', 'dane*', 'tlsrpt*'],
  // Proofs of ownership for services that host content or identities.
  ...['*verif*', '*ownership*', '*confirm*', '*domain*', '*pages*', '*-dcv*', '*site*', 'asuid*', 'psl'],
  ...['apple*', 'atlassian*', 'atproto*', 'aws*', 'azure*', 'cf-*', 'cloudflare*', 'discord*', 'dropbox*'],
  ...['facebook*', 'fastly*', 'firebase*', 'github*', 'gitlab*', 'google*', 'heroku*', 'hubspot*'],
  ...['keybase*', 'meta-*', 'microsoft*', 'netlify*', 'notion*', 'openai*', 'render*', 'shopify*', 'slack*'],
  ...['stripe*', 'twilio*', 'vercel*', 'webflow*', 'zendesk*', 'zoho*', 'zoom*'],
  // Names where software looks up a service or a key.
  ...['kerberos*', 'msdcs', 'sites', 'vlmcs', 'autodiscover', 'autoconfig*', 'sipfederationtls', 'matrix*'],
  ...[
    'xmppconnect',
    'xmpp-*',
    'minecraft',
    'dns-sd',
    'dnssd',
    'services',
    'dnslink*',
    'wpad',
    'ntp',
    'stun*',
  ],
  ...['turn*', 'dsync', 'dsboot', 'oidc*', 'saml*', 'did', 'agent*', 'agents', 'mcp', 'a2a', 'nostr*'],
  ...['bitcoin*', '*payment*', 'lightning*', 'ens', 'pgp*', 'whois', 'rdap*', 'rvp', 'tor'],
];
