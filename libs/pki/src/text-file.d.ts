/** A text file as a string: esbuild's loader `text`, and the transformer of the specs. */
declare module '*.txt' {
  const text: string;
  export default text;
}
