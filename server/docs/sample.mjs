// These functions read the samples of operations, and complete them to programs.

// languages are the languages of the samples, in the order in which a page shows them.
export const languages = ["sh", "ts", "go", "php", "python"];

// samplesOf reads samples.md: under a heading with the operation's name, it has a block of code in each language.
export const samplesOf = (text) => {
  const all = new Map();
  for (const [, name, rest] of text.matchAll(/^## (\w+)\n([^]*?)(?=^## |$(?![^]))/gm)) {
    const own = Object.fromEntries([...rest.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language, block]) => [language, block.trimEnd()]));
    for (const language of languages) {
      if (!own[language]) {
        throw new Error(`the samples of ${name} have none in ${language}`);
      }
    }
    all.set(name, own);
  }
  return all;
};

// address is the address in the samples. The server replaces it by its own address (docs.Address).
const address = "https://storefront.example";

const indented = (text) => text.replaceAll(/^(?=.)/gm, "\t");

// program completes a sample to a program that a reader can copy and run.
export const program = (language, sample) => {
  switch (language) {
    case "sh":
      return sample.replaceAll("$SHOP_URL", address);
    case "ts":
      return `import { createStorefront } from "storefront-client";

const storefront = createStorefront({
  baseUrl: "${address}",
  apiKey: process.env.SHOP_KEY!,
});

${sample}`;
    case "php":
      return `<?php

require 'vendor/autoload.php';

$shop = new Storefront\\Client('${address}', getenv('SHOP_KEY'));

${sample}`;
    case "python":
      return `import os

from storefront_client import Client

shop = Client("${address}", os.environ["SHOP_KEY"])

${sample}`;
    default:
      return `package main

import (
	"context"
	"fmt"
	"log"
	"os"
${sample.includes("time.") ? '\t"time"\n' : ""}
	"go.storefront.example/client"
)

func main() {
	shop, err := client.New("${address}", os.Getenv("SHOP_KEY"))
	if err != nil {
		log.Fatal(err)
	}
${indented(sample)}
}`;
  }
};
