import type { ConfigTemplate } from './config-template';
import { apache } from './templates/apache';
import { caddy } from './templates/caddy';
import { dovecot } from './templates/dovecot';
import { haproxy } from './templates/haproxy';
import { lighttpd } from './templates/lighttpd';
import { nginx } from './templates/nginx';
import { node } from './templates/node';
import { postfix } from './templates/postfix';

/** In the order in which they are listed. */
export const configTemplates: readonly ConfigTemplate[] = [
  apache,
  caddy,
  dovecot,
  haproxy,
  lighttpd,
  nginx,
  node,
  postfix,
];
