import { Controller, Get, Module } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import { createHttpApp } from '../http/http-app';
import { createLogger } from '../logging/logger';
import { Metrics } from '../operations/metrics';
import { Readiness } from '../operations/readiness';
import { Authenticated, Public, RequirePermission } from './route-access';

@RequirePermission('Search Certificates')
class Sample {
  inherits(): void {
    return;
  }

  @Public()
  decides(): void {
    return;
  }

  @RequirePermission('Manage Monitored Domains', 'Order and Manage Certificates')
  @RouteConfig({ other: 1 })
  keeps(): void {
    return;
  }
}

const configOf = (method: keyof Sample): unknown =>
  Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, Sample.prototype[method]);

describe('who may call a route', () => {
  it('says its method, else its controller, and other configuration stays', () => {
    expect(configOf('inherits')).toEqual({ access: { kind: 'permission', anyOf: ['Search Certificates'] } });
    expect(configOf('decides')).toEqual({ access: { kind: 'public' } });
    expect(configOf('keeps')).toEqual({
      other: 1,
      access: { kind: 'permission', anyOf: ['Manage Monitored Domains', 'Order and Manage Certificates'] },
    });
  });

  async function start(
    decorate: (target: object, key: string, descriptor: PropertyDescriptor) => void,
  ): Promise<void> {
    class RouteController {
      route(): string {
        return '';
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(RouteController.prototype, 'route') ?? {};
    Get('route')(RouteController.prototype, 'route', descriptor);
    decorate(RouteController.prototype, 'route', descriptor);
    Controller()(RouteController);
    class RouteModule {}
    Module({ controllers: [RouteController] })(RouteModule);
    const app = await createHttpApp(RouteModule, {
      log: createLogger('spec', 'silent'),
      metrics: new Metrics('spec'),
      readiness: new Readiness(),
      renderProblem: () => ({ status: 500, body: {} }),
    });
    await app.init();
    await app.close();
  }

  it('must be said, or the application does not start', async () => {
    await expect(start(() => undefined)).rejects.toThrow(
      'GET /route does not say who may call it: add @Public(), @Authenticated() or @RequirePermission(…)',
    );
  });

  it('must be anybody when there is no authenticator', async () => {
    await expect(start(Authenticated())).rejects.toThrow(
      'GET /route needs an API key, but the application was made without',
    );
    await start(Public());
  });
});
