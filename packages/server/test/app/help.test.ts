import { describe, expect, test } from 'vitest'
import { commands } from '../../src/app/commands.ts'
import { run } from './run.ts'

const names = commands.map(({ name }) => name)

describe('The help of the command line', () => {
  test.each(names)('The help of grantor %s has the usage, every option, an example and the exit codes', async (name) => {
    const { exit, out, err } = await run([...name.split(' '), '--help'])
    expect([exit, err]).toEqual([0, ''])
    expect(out).toContain(`Usage: grantor ${name}`)
    const command = await commands.find((each) => each.name === name)!.load()
    expect(command.name).toBe(name)
    for (const option of [...Object.keys(command.options), 'help']) expect(out).toContain(`--${option}`)
    expect(out).toMatch(new RegExp(`Examples?:\\n(.*\\n)*.*grantor ${name}`))
    expect(out).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /)
    expect(out.split('\n').filter((line) => line.length > 100 && !/^ {2}(grantor|GRANTOR_)/.test(line))).toEqual([])
  })

  test('The option -h prints the help even if other arguments are wrong', async () => {
    expect(await run(['clients', 'show', '--nonsense', '-h'])).toMatchObject({ exit: 0 })
  })

  test('The help of serve lists settings that serve reads, and the help of migrate leaves out a setting that migrate does not read', async () => {
    const { out } = await run(['serve', '--help'])
    for (const name of ['AUTH_URL', 'SECRET', 'TRUSTED_PROXIES', 'KEY_ROTATION_DAYS']) expect(out).toContain(`GRANTOR_${name}`)
    expect((await run(['migrate', '--help'])).out).not.toContain('GRANTOR_LOGIN_URL')
  })

  test.each([['--help'], ['-h'], ['help']])('The command line grantor %s lists every command', async (word) => {
    const { exit, out } = await run([word])
    expect(exit).toBe(0)
    for (const name of names) expect(out).toContain(`  ${name} `)
  })

  test('The command line grantor help COMMAND prints the same as grantor COMMAND --help', async () => {
    expect(await run(['help', 'clients', 'create'])).toEqual(await run(['clients', 'create', '--help']))
  })

  test('Without a command, grantor prints the commands to standard error and exits with 2', async () => {
    const { exit, out, err } = await run([])
    expect([exit, out]).toEqual([2, ''])
    expect(err).toContain('clients create')
  })

  test('The name of a group of commands, such as clients, prints the commands of this group', async () => {
    expect(await run(['clients'])).toMatchObject({ exit: 2, err: expect.stringContaining('rotate-secret') })
    const help = await run(['clients', '--help'])
    expect(help.exit).toBe(0)
    expect(help.out).not.toContain('keys rotate')
  })

  test('The option --version prints the version of the package', async () => {
    expect(await run(['--version'])).toEqual({
      exit: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+(\+([0-9a-f]{7,}(\.dirty)?|unknown))?\n$/),
      err: '',
    })
  })
})

describe('Wrong command lines', () => {
  test.each([
    [['strat'], '"strat" is not a command; did you mean grantor start?'],
    [['clents', 'create'], '"clents" is not a command; did you mean grantor clients create?'],
    [['clients', 'crate'], '"clients crate" is not a command; did you mean grantor clients create?'],
    [['frobnicate'], '"frobnicate" is not a command'],
    [['--data'], '"--data" is not a command'],
    [['clients', 'create', '--nam', 'x'], '--nam is not an option here; did you mean --name?'],
    [['clients', 'create', '--name'], '--name needs a value: --name NAME'],
    [['clients', 'create', '--name', '--scope', 'x'], '--name needs a value; write --name=--scope if --scope is meant'],
    [['clients', 'create', '--json=yes'], '--json takes no value'],
    [['clients', 'create', '--name=a', '--name=b'], '--name may be given once only'],
    [['clients', 'create', '--consent', 'always'], '--consent must be one of session, signed, not "always"'],
    [['clients', 'show'], 'CLIENT_ID is missing'],
    [['clients', 'show', 'a', 'b'], '"b" is one argument too many'],
    [['clients', 'list', '--', '--json'], '"--json" is one argument too many'],
    [['start', '--ports', '65531'], '--ports must be a port from 1024 to 65530, the first of six, not "65531"'],
    [['start', '--ports', '80'], '--ports must be a port from 1024 to 65530, the first of six, not "80"'],
  ])('The wrong command line %j exits with 2, and the error names the fault', async (argv, message) => {
    const { exit, out, err } = await run(argv)
    expect([exit, out]).toEqual([2, ''])
    expect(err).toContain(`grantor: ${message}`)
  })

  test('All faults of one command line are reported at once', async () => {
    const { err } = await run(['clients', 'show', '--jsn', '--data=', 'a'])
    expect(err).toContain('did you mean --json?')
    expect(err).toContain('--data needs a value')
  })
})
