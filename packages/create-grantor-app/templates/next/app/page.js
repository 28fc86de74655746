import { getServerSession } from 'next-auth'
import { authOptions } from '../auth.js'
import { SignIn, SignOut } from './buttons.js'

export const dynamic = 'force-dynamic'

export default async function Page() {
  const session = await getServerSession(authOptions())
  if (!session)
    return (
      <>
        <p>Sign in with your wallet. It signs one text, which costs nothing and transfers nothing.</p>
        <SignIn />
      </>
    )
  return (
    <>
      <p>You are signed in as</p>
      <p>
        <code id="wallet">{session.user.wallet}</code>
      </p>
      <SignOut />
    </>
  )
}
