"""Crawls the seeds of a file with Scrapy; bodies and links go to a feed of JSON lines, as Scrapy's own documentation has it."""

import sys

from scrapy import Spider
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Pages(Spider):
    name = "pages"
    links = LinkExtractor()

    def parse(self, response):
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
    seeds, out = sys.argv[1:]
    with open(seeds, encoding="utf-8") as lines:
        urls = lines.read().split()
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS": 50,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "USER_AGENT": "peer/1.0 (+mailto:bench@example.org)",
            "FEEDS": {out: {"format": "jsonlines"}},
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(Pages)
    process.crawl(crawler, start_urls=urls)
    process.start()
    print(crawler.stats.get_value("item_scraped_count"))


main()
