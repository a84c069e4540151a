import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { asJsonSchema2020 } from './json-schema-2020';
import { type OperationExamples, withExamples } from './operation-examples';

export interface DocumentedControllers {
  readonly controllers: readonly Type[];
  /** The document without what the controllers say. */
  readonly about: Omit<OpenAPIObject, 'paths'>;
  /** Path of the API's version, in front of every path of the controllers, which the document leaves to `about.servers`. */
  readonly prefix?: string;
  /** Paths that no controller serves. */
  readonly morePaths?: OpenAPIObject['paths'];
  /** Of each operation with a JSON body, by its `operationId`. */
  readonly examples: Readonly<Record<string, OperationExamples>>;
  /** `components.examples`. */
  readonly errorExamples: Readonly<Record<string, { readonly value: object }>>;
}

/** The OpenAPI document that the decorators of controllers and their classes describe. No route is called. */
export async function controllersDocument({
  controllers,
  about,
  prefix = '',
  morePaths = {},
  examples,
  errorExamples,
}: DocumentedControllers): Promise<OpenAPIObject> {
  // Nothing is called, so the dependencies stay empty.
  const providers = controllers
    .flatMap((controller) => [controller, ...guardsOf(controller)])
    .flatMap(dependenciesOf)
    .map((dependency) => ({ provide: dependency as Type, useValue: {} }));
  const routes = class DocumentedRoutes {};
  Module({ controllers: [...controllers], providers })(routes);
  const app = await NestFactory.create(routes, new FastifyAdapter(), { logger: false, abortOnError: false });
  try {
    const document = SwaggerModule.createDocument(app, about, { autoTagControllers: false });
    const paths = Object.entries(document.paths).map(([path, item]) => [path.slice(prefix.length), item]);
    const described = {
      ...document,
      paths: { ...Object.fromEntries(paths), ...morePaths } as OpenAPIObject['paths'],
    };
    return asJsonSchema2020({
      ...withExamples(described, examples),
      components: { ...document.components, examples: errorExamples },
    });
  } finally {
    await app.close();
  }
}

/** Under which Nest keeps the guards of a class or a method. */
const guards = '__guards__';

function guardsOf({ prototype }: Type): Type[] {
  const members = Object.values(Object.getOwnPropertyDescriptors(prototype as object));
  return members.flatMap(({ value }) =>
    typeof value === 'function' ? ((Reflect.getMetadata(guards, value) as Type[] | undefined) ?? []) : [],
  );
}

/** Tokens: types of the constructor's parameters, or what `@Inject()` says. */
function dependenciesOf(type: Type): unknown[] {
  const types = (Reflect.getMetadata('design:paramtypes', type) as unknown[] | undefined) ?? [];
  const named =
    (Reflect.getMetadata('self:paramtypes', type) as { index: number; param: unknown }[] | undefined) ?? [];
  return types.map((each, nth) => named.find(({ index }) => index === nth)?.param ?? each);
}
