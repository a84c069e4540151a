import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';

/** What an API key may be allowed to do: a closed list, in the words that the account's owner reads. */
export const permissions = [
  'Full Access',
  'Order and Manage Certificates',
  'Manage Monitored Domains',
  'Search Certificates',
] as const;

export type Permission = (typeof permissions)[number];

/** @param held as stored; a word outside the list grants nothing */
export function isAllowed(held: readonly string[], anyOf: readonly Permission[]): boolean {
  return held.includes('Full Access') || anyOf.some((permission) => held.includes(permission));
}

/** Who may call a route. It lies in the route's Fastify configuration, where a hook sees it before the body is read. */
export type RouteAccess =
  | { readonly kind: 'public' }
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'permission'; readonly anyOf: readonly Permission[] };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess;
  }
}

type RouteDecorator = MethodDecorator & ClassDecorator;

/** No credentials are asked for, and none are looked at. */
export const Public = (): RouteDecorator => accessDecorator({ kind: 'public' });

/** Any API key that is not disabled. */
export const Authenticated = (): RouteDecorator => accessDecorator({ kind: 'authenticated' });

/** An API key with one of these permissions; `Full Access` implies each. */
export const RequirePermission = (...anyOf: readonly [Permission, ...Permission[]]): RouteDecorator =>
  accessDecorator({ kind: 'permission', anyOf });

/** On a method it decides; on a controller it decides for the methods that say nothing themselves. */
function accessDecorator(access: RouteAccess): RouteDecorator {
  return (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor !== undefined) {
      setAccess(descriptor.value as object, access);
      return;
    }
    const { prototype } = target as { readonly prototype: object };
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === 'function' && value !== target && accessOf(value) === undefined)
        setAccess(value, access);
    }
  };
}

interface Config {
  readonly access?: RouteAccess;
}

const configOf = (handler: object): Config =>
  (Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as Config | undefined) ?? {};

const accessOf = (handler: object): RouteAccess | undefined => configOf(handler).access;

/** Keeps what another decorator has put into the configuration: `RouteConfig` alone would replace it. */
function setAccess(handler: object, access: RouteAccess): void {
  const decorate = RouteConfig({ ...configOf(handler), access });
  decorate(Object.prototype, 'handler', { value: handler });
}
