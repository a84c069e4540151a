// One set of compiler options for the bundler and for Jest: legacy decorators with metadata, as NestJS and TypeORM read them.
exports.ts = {
  swcrc: false,
  sourceMaps: true,
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: 'es2023',
    keepClassNames: true,
  },
};
exports.js = {
  swcrc: false,
  sourceMaps: true,
  jsc: { parser: { syntax: 'ecmascript' }, target: 'es2023', keepClassNames: true },
};
