import type { ConfigTemplate } from '../config-template';
import { hstsMaxAgeS, hstsWarning } from '../tls-settings';

/** Version 2. What it does of its own accord, versions and cipher suites, is what would be recommended. */
export const caddy: ConfigTemplate = {
  name: 'caddy',
  text: (security) => `\
# Into the block of the site. Caddy then fetches no certificate itself.
tls "__CHAINED_PATH__" "__KEY_PATH__"${security ? settings : '\n'}`,
};

const settings = ` {
	protocols tls1.2 tls1.3
}

# ${hstsWarning}
#header Strict-Transport-Security "max-age=${hstsMaxAgeS}"
`;
