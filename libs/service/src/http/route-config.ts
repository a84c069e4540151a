import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import type { FastifyContextConfig } from 'fastify';

/** The configuration of a route, which hooks and body parsers read; set by decorators of its handler. */
export const routeConfigOf = (handler: object): FastifyContextConfig =>
  (Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as FastifyContextConfig | undefined) ?? {};

/** `RouteConfig` alone would replace the configuration that other decorators set. */
export function addRouteConfig(handler: object, members: FastifyContextConfig): void {
  const decorate = RouteConfig({ ...routeConfigOf(handler), ...members });
  decorate(Object.prototype, 'handler', { value: handler });
}
