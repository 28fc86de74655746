/** Java programs of the tests: compiled by Maven in a temporary folder, run by `java`. Maven keeps the libraries in its own cache. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { newFolder } from '../app/run.ts'

const BOOT = '4.1.2'

/** Why the programs cannot run on this machine; null if they can. */
export function whyNoMaven(): string | null {
  const hasAll = ['mvn', 'javac'].every((name) => spawnSync(name, ['-version']).status === 0)
  return hasAll ? null : 'Maven or a JDK is missing: apt install maven openjdk-17-jdk-headless'
}

/** Compiles classes against these dependencies, whose versions Spring Boot chooses. Returns the class path. */
export function compileJava(dependencies: string, classes: Record<string, string>): string {
  const folder = newFolder()
  writeFileSync(join(folder, 'pom.xml'), pom(dependencies))
  for (const [name, source] of Object.entries(classes)) {
    const [, packageName = ''] = /^package ([\w.]+);/m.exec(source) ?? []
    const sources = join(folder, 'src/main/java', ...packageName.split('.'))
    mkdirSync(sources, { recursive: true })
    writeFileSync(join(sources, `${name}.java`), source)
  }
  const argv = ['-B', '-q', '-ntp', '-f', folder, 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=class-path']
  const { status, stdout } = spawnSync('mvn', argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`Maven could not compile: ${stdout}`)
  return [join(folder, 'target/classes'), readFileSync(join(folder, 'class-path'), 'utf8').trim()].join(delimiter)
}

function pom(dependencies: string): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>${BOOT}</version></parent>
<groupId>com.example</groupId><artifactId>recipe</artifactId><version>1</version>
<properties><java.version>17</java.version></properties>
<dependencies>${dependencies}</dependencies>
</project>
`
}

export type JavaProgram = { close(): Promise<void> }

/** Runs a class. Resolves with the rest of the first line of its output that matches. */
export async function startJava(
  classPath: string,
  { main, environment, argv = [], until }: { main: string; environment?: Record<string, string>; argv?: string[]; until: RegExp },
): Promise<JavaProgram & { line: string }> {
  const program = spawn('java', ['-cp', classPath, main, ...argv], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => program.once('close', () => resolve()))
  const close = (): Promise<void> => {
    program.kill()
    return ended
  }
  let output = ''
  program.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  for await (const line of createInterface(program.stdout)) {
    output += `${line}\n`
    if (until.test(line)) {
      program.stdout.resume()
      return { line, close }
    }
  }
  throw new Error(`${main} ended: ${output}`)
}
