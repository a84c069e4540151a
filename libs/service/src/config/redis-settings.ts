import { parseRedisUrl, type RedisAddress, redisUrlSchemes } from '@certwright/redis-address';
import { type Described, settingOf } from './setting';
import { readableFile, string } from './setting-kinds';

/**
 * The settings of every process that uses Redis; spread into its own table.
 *
 * @param described what for, and what happens while Redis is down
 */
export const redisSettings = (described: Pick<Described<never>, 'meaning'>) => ({
  REDIS_URL: settingOf<RedisAddress, RedisAddress>(
    {
      unit: `URL, ${redisUrlSchemes.map((scheme) => `${scheme}://`).join(' or ')}`,
      secret: true,
      read: readUrl,
    },
    described,
  ),
  REDIS_PASSWORD_FILE: readableFile({
    meaning:
      'File with the password of Redis, in place of one in REDIS_URL; read again for each connection, so that a new password needs no restart',
    default: null,
  }),
  REDIS_SENTINEL_USER: string({
    meaning: 'User that Sentinels expect, when REDIS_SENTINEL_PASSWORD_FILE is set; none: their default user',
    default: null,
  }),
  REDIS_SENTINEL_PASSWORD_FILE: readableFile({
    meaning:
      'File with the password of the Sentinels; read again for each connection. None: they are queried without a password',
    default: null,
  }),
  REDIS_CA_FILE: readableFile({
    meaning:
      'PEM file with the CAs of the certificates of Redis and its Sentinels; read again for each connection. None: those that Node.js trusts',
    default: null,
  }),
  REDIS_PREFIX: string({
    meaning:
      'Prefix of every key and channel; the same for all processes of a deployment, and another one for each deployment on the same Redis',
    pattern: /^[A-Za-z0-9._-]{1,64}$/,
    default: 'certwright',
  }),
});

function readUrl(text: string) {
  const address = parseRedisUrl(text);
  return 'fault' in address ? address : { value: address };
}
