export function homePage({ wallet, hasFailed }) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>my-grantor-app</title>
<link rel="stylesheet" href="/style.css">
<main>
<h1>my-grantor-app</h1>
${hasFailed ? '<p role="alert">You are not signed in. Try again.</p>' : ''}
${wallet ? signedIn(wallet) : SIGNED_OUT}
</main>
</html>
`
}

const SIGNED_OUT = `<p>Sign in with your wallet. It signs one text, which costs nothing and transfers nothing.</p>
<p><a class="button" id="sign-in" href="/login">Sign in with your wallet</a></p>`

// The address comes from Grantor, and has letters and digits only.
function signedIn(wallet) {
  return `<p>You are signed in as</p>
<p><code id="wallet">${wallet}</code></p>
<form method="post" action="/logout"><button class="button quiet" id="sign-out">Sign out</button></form>`
}
