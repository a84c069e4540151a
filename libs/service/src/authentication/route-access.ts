import { addRouteConfig, routeConfigOf } from '../http/route-config';

/** Permissions of an API key: a closed list, as shown to the account's owner. */
export const permissions = [
  'Full Access',
  'Order and Manage Certificates',
  'Manage Monitored Domains',
  'Search Certificates',
] as const;

export type Permission = (typeof permissions)[number];

/** @param held as stored; unknown permissions grant nothing */
export function isAllowed(held: readonly string[], anyOf: readonly Permission[]): boolean {
  return held.includes('Full Access') || anyOf.some((permission) => held.includes(permission));
}

/** Who may call a route. Stored in the route's Fastify configuration, where a hook reads it before the body. */
export type RouteAccess =
  | { readonly kind: 'public' }
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'permission'; readonly anyOf: readonly Permission[] }
  | { readonly kind: 'signed'; readonly signer: Signer };

/** `known`: the key of the signature is looked up before the body is read. `in_body`: the body contains it. */
export type Signer = 'known' | 'in_body';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess;
  }
}

type RouteDecorator = MethodDecorator & ClassDecorator;

/** No credentials needed; they are ignored. */
export const Public = (): RouteDecorator => accessDecorator({ kind: 'public' });

/** Any API key that is not disabled. */
export const Authenticated = (): RouteDecorator => accessDecorator({ kind: 'authenticated' });

/** An API key with one of these permissions; `Full Access` implies each. */
export const RequirePermission = (...anyOf: readonly [Permission, ...Permission[]]): RouteDecorator =>
  accessDecorator({ kind: 'permission', anyOf });

/** Signed by the sender (RFC 9421), instead of an API key: see `SignedRequests`. */
export const Signed = (signer: Signer = 'known'): RouteDecorator =>
  accessDecorator({ kind: 'signed', signer });

/** On a controller: the default for methods without a decorator of their own. */
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

const accessOf = (handler: object): RouteAccess | undefined => routeConfigOf(handler).access;

function setAccess(handler: object, access: RouteAccess): void {
  addRouteConfig(handler, { access });
}
