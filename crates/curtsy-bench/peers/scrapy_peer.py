"""Crawls the seeds of a file with Scrapy; bodies and links go to a feed of JSON lines, as Scrapy's own documentation has it.

`scrapy_peer.py SEEDS OUT` crawls as fast as it goes; with a file of settings in JSON behind them, as that file says.
"""

import json
import sys
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse
from scrapy.linkextractors import LinkExtractor


class Pages(Spider):
    name = "pages"
    links = LinkExtractor()

    def parse(self, response):
        if not isinstance(response, TextResponse):
            yield {"url": response.url, "status": response.status}
            return
        links = [link.url for link in self.links.extract_links(response)]
        yield {
            "url": response.url,
            "status": response.status,
            "title": response.css("title::text").get(),
            "links": links,
            "body": response.text,
        }
        yield from response.follow_all(links, callback=self.parse)


def main():
    seeds, out, *more = sys.argv[1:]
    with open(seeds, encoding="utf-8") as lines:
        urls = lines.read().split()
    settings = {
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 50,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "USER_AGENT": "peer/1.0 (+mailto:bench@example.org)",
        "FEEDS": {out: {"format": "jsonlines"}},
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
    for name in more:
        with open(name, encoding="utf-8") as text:
            settings |= json.load(text)
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Pages)
    # Whoever is polite stays on the hosts that it was given.
    allowed = [urlsplit(url).hostname for url in urls] if more else []
    process.crawl(crawler, start_urls=urls, allowed_domains=allowed)
    process.start()
    print(crawler.stats.get_value("item_scraped_count", 0))


main()
